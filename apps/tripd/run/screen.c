/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines that scroll by, and on a terminal a block below them that is drawn again in place. */
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "screen.h"

#define LINE_MAX_BYTES 1024

static void
measure(struct tripd_screen *screen)
{
	struct winsize size;

	screen->width = 80;
	screen->height = 24;
	if (ioctl(screen->fd, TIOCGWINSZ, &size) != 0)
		return;
	if (size.ws_col > 0)
		screen->width = size.ws_col;
	if (size.ws_row > 0)
		screen->height = size.ws_row;
}

void
tripd_screen_init(struct tripd_screen *screen, FILE *out)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	memset(screen, 0, sizeof(*screen));
	screen->out = out;
	screen->fd = fileno(out);
	screen->terminal =
		isatty(screen->fd) && term != NULL && term[0] != '\0' && strcmp(term, "dumb") != 0;
	screen->colours = screen->terminal && (no_color == NULL || no_color[0] == '\0');
	if (screen->terminal)
		measure(screen);
}

void
tripd_screen_begin(struct tripd_screen *screen)
{
	screen->in_block = false;
	if (screen->block > 0)
		fprintf(screen->out, "\033[%uA\r\033[J", screen->block);
	screen->block = 0;
	if (screen->terminal)
		measure(screen);
}

void
tripd_screen_block(struct tripd_screen *screen)
{
	screen->in_block = screen->terminal;
}

void
tripd_screen_end(struct tripd_screen *screen)
{
	screen->in_block = false;
	fflush(screen->out);
}

void
tripd_screen_cut(const char *line, unsigned int width, char *cut, size_t size)
{
	bool fits = true;
	size_t n = 0;

	while (*line != '\0' && n + 1 < size) {
		if (*line == '\033') {
			size_t length = strcspn(line, "m");

			length += line[length] != '\0';
			if (n + length + 1 > size)
				break;
			memcpy(cut + n, line, length);
			n += length;
			line += length;
			continue;
		}
		/* The bytes behind the first of a UTF-8 character take no column. */
		if (((unsigned char)*line & 0xc0) != 0x80) {
			fits = width > 0;
			width -= fits;
		}
		if (fits)
			cut[n++] = *line;
		line++;
	}
	cut[n] = '\0';
}

void
tripd_screen_say(struct tripd_screen *screen, const char *format, ...)
{
	char line[LINE_MAX_BYTES], cut[LINE_MAX_BYTES];
	va_list args;

	if (tripd_screen_room(screen) == 0)
		return;
	va_start(args, format);
	if (screen->in_block) {
		/* As many lines must be taken away again as have been drawn, so none is to wrap. */
		vsnprintf(line, sizeof(line), format, args);
		tripd_screen_cut(line, screen->width, cut, sizeof(cut));
		fprintf(screen->out, "%s\n", cut);
		screen->block++;
	} else {
		vfprintf(screen->out, format, args);
		fputc('\n', screen->out);
	}
	va_end(args);
}

unsigned int
tripd_screen_room(const struct tripd_screen *screen)
{
	if (!screen->in_block)
		return UINT_MAX;
	/* A block that is higher than the terminal could not be taken away again. */
	return screen->block + 1 < screen->height ? screen->height - 1 - screen->block : 0;
}

const char *
tripd_screen_colour(const struct tripd_screen *screen, enum tripd_colour colour)
{
	static const char *const codes[] = {
		"\033[0m", "\033[1m", "\033[2m", "\033[31m", "\033[32m", "\033[33m"};

	return screen->colours ? codes[colour] : "";
}
