/* SPDX-License-Identifier: BSD-3-Clause */
/* A table on a stream, whose columns are as wide as its first rows want them. */
#include <stdlib.h>
#include <string.h>

#include "table.h"
#include "text.h"
#include "tripctl.h"

#define ROWS_HELD 1000

static bool
is_words(const struct tripctl_table *table, unsigned int column)
{
	return table->titles[column][0] == '<';
}

static const char *
title_of(const struct tripctl_table *table, unsigned int column)
{
	return table->titles[column] + is_words(table, column);
}

void
tripctl_table_open(struct tripctl_table *table, FILE *out, const char *const *titles)
{
	*table = (struct tripctl_table){.out = out, .titles = titles};
	while (titles[table->n_columns] != NULL)
		table->n_columns++;
	for (unsigned int i = 0; i < table->n_columns; i++)
		table->widths[i] = (unsigned int)strlen(title_of(table, i));
	table->max_cells = (size_t)ROWS_HELD * table->n_columns;
	table->cells = calloc(table->max_cells, sizeof(*table->cells));
}

static void
write_cell(struct tripctl_table *table, unsigned int column, const char *text)
{
	const char *gap = column > 0 ? "  " : "";
	int width = (int)table->widths[column];

	if (!is_words(table, column))
		fprintf(table->out, "%s%*s", gap, width, text);
	else if (column + 1 == table->n_columns)
		fprintf(table->out, "%s%s", gap, text);
	else
		fprintf(table->out, "%s%-*s", gap, width, text);
	if (column + 1 == table->n_columns)
		fputc('\n', table->out);
}

static void
flush(struct tripctl_table *table)
{
	for (size_t i = 0; i < table->n_cells; i++) {
		unsigned int *width = &table->widths[i % table->n_columns];
		unsigned int length = (unsigned int)strlen(table->cells[i]);

		*width = length > *width ? length : *width;
	}
	for (unsigned int i = 0; !table->headed && i < table->n_columns; i++)
		write_cell(table, i, title_of(table, i));
	table->headed = true;
	for (size_t i = 0; i < table->n_cells; i++) {
		write_cell(table, (unsigned int)(i % table->n_columns), table->cells[i]);
		free(table->cells[i]);
	}
	table->n_cells = 0;
}

void
tripctl_table_cell(struct tripctl_table *table, const char *text)
{
	char escaped[TRIPCTL_TABLE_CELL];
	char *cell = strdup(tripctl_text_escape(text, escaped, sizeof(escaped)));

	if (table->cells == NULL || cell == NULL)
		exit(tripctl_complain(TRIPCTL_EXIT_RUN, "no memory for a table"));
	table->cells[table->n_cells++] = cell;
	if (table->n_cells == table->max_cells)
		flush(table);
}

void
tripctl_table_close(struct tripctl_table *table)
{
	flush(table);
	free(table->cells);
}
