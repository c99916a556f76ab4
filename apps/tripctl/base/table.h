/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A table on a stream. Columns are as wide as the first thousand rows want them, so that a table of
 * millions takes no memory of its own; what is wider later moves its row.
 */
#ifndef TRIPCTL_TABLE_H
#define TRIPCTL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define TRIPCTL_TABLE_COLUMNS 16
/* Bytes of a cell, with its end. */
#define TRIPCTL_TABLE_CELL 1024

struct tripctl_table {
	FILE *out;
	/* Titles, ended by NULL; one that begins with '<' is of a column of words. */
	const char *const *titles;
	unsigned int n_columns;
	unsigned int widths[TRIPCTL_TABLE_COLUMNS];
	bool headed;
	/* Cells of the rows that are held back. */
	char **cells;
	size_t n_cells, max_cells;
};

void tripctl_table_open(struct tripctl_table *table, FILE *out, const char *const *titles);

/* The next cell; the row ends with the last column. The text is escaped. */
void tripctl_table_cell(struct tripctl_table *table, const char *text);

/* Writes what is held back. Without a row, there is only the head. */
void tripctl_table_close(struct tripctl_table *table);

#endif
