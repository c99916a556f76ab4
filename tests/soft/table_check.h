/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TABLE_CHECK_H
#define TABLE_CHECK_H

#include "table.h"

/* 0, or a negative errno with what is broken on stderr. No burst is running. */
int table_check(const struct trip_table *table);

#endif
