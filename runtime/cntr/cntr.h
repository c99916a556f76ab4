/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIP_RUNTIME_CNTR_H
#define TRIP_RUNTIME_CNTR_H

#include "domain/domain.h"

/* `cntr 7 "dns"` for messages; into `text`, of `size` bytes. Returns text. */
const char *trip_cntr_label(const struct trip_cntr *cntr, char *text, size_t size);
#define TRIP_CNTR_LABEL_SIZE (TRIP_NAME_MAX + 20)

/* What the counter is now: a clock's cell does not say. */
void trip_cntr_sample(const struct trip_cntr *cntr, struct trip_cell_sample *sample);

/* Whether success or error differ from what the handle last read; fills in what they are. */
bool trip_cntr_is_due(struct trip_cntr *cntr, struct trip_cell_sample *sample);

/* Counters of this process, or of the primary. */
struct trip_cntr_backend {
	/* Opens the counter of a handle or, where that has it `found`, finds it: 0 or the error. */
	int (*open)(struct trip_cntr *cntr, const struct trip_cntr_attr *attr);
	/* The handle is to go: 0, or -EBUSY: others have it open, and nothing has changed. */
	int (*retire)(struct trip_cntr *cntr);
	/* It goes, and nothing waits by it any more. With `abandoned` it was not retired: whoever
	 * has found the counter since it was opened keeps it. */
	void (*let_go)(struct trip_cntr *cntr, bool abandoned);
};

extern const struct trip_cntr_backend trip_cntr_local;

/* Makes a handle one of the counter at this index. `flows` is how many feed it; NULL: as its cell
 * says, which others may write over. */
void trip_cntr_bind(
	struct trip_cntr *cntr, const struct trip_entry *entry, _Atomic uint32_t *flows);

#endif
