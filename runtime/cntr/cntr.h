/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIP_RUNTIME_CNTR_H
#define TRIP_RUNTIME_CNTR_H

#include "domain/domain.h"

/* `cntr 7 "dns"` for messages; into `text`, of `size` bytes. Returns text. */
const char *trip_cntr_label(const struct trip_cntr *cntr, char *text, size_t size);
#define TRIP_CNTR_LABEL_SIZE (TRIP_NAME_MAX + 20)

/* Whether success or error differ from what the handle last read; fills in what they are. */
bool trip_cntr_is_due(struct trip_cntr *cntr, struct trip_cell_sample *sample);

#endif
