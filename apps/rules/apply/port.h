/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIP_APPLY_PORT_H
#define TRIP_APPLY_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include "rules.h"

/*
 * Finds the port that a rule calls by its number, by the name or the address of its device, or by
 * the interface of the kernel that it is on; among those that this process has.
 *
 * @return
 *   Whether there is one; of a number that is not asked.
 */
bool trip_apply_port(const struct trip_rules_count *rule, uint16_t *port);

#endif
