/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIP_APPLY_PORT_H
#define TRIP_APPLY_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include "rules.h"

/* Finds the port of this process that a rule names, which is not any: by number, which is taken as
 * it is, by the name or address of its device, or by its interface of the kernel. Returns whether
 * there is one. */
bool trip_apply_port(const struct trip_rules_port *named, uint16_t *port);

#endif
