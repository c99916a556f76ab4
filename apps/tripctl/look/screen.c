/* SPDX-License-Identifier: BSD-3-Clause */
/* top on a terminal. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <curses.h>

#include "base/text.h"
#include "screen.h"

static const char keys_line[] =
	"q quit  s sort  n v r l by name value rate left  / filter  space pause";

static const char hitters_line[] = "q quit  s sort  p b r k by packets bytes rate key  space pause";

int
tripctl_screen_open(
	struct tripctl_screen *screen, struct tripctl_view *view, struct tripctl_hitters *hitters)
{
	*screen = (struct tripctl_screen){.view = view, .hitters = hitters};
	if (newterm(NULL, stdout, stdin) == NULL)
		return -1;
	cbreak();
	noecho();
	nodelay(stdscr, TRUE);
	keypad(stdscr, TRUE);
	set_escdelay(25);
	curs_set(0);
	return 0;
}

void
tripctl_screen_close(void)
{
	endwin();
}

static unsigned int
width_of_screen(void)
{
	return COLS > 0 && COLS < TRIPCTL_VIEW_LINE ? (unsigned int)COLS : 80;
}

static void
put(int y, const char *line, attr_t attributes)
{
	if (y >= LINES)
		return;
	attrset(attributes);
	mvaddnstr(y, 0, line, (int)width_of_screen());
	attrset(A_NORMAL);
}

/* Where rows come from and how; what is typed stands there, too. */
static void
draw_status(const struct tripctl_screen *screen, int y)
{
	const struct tripctl_view *view = screen->view;
	char line[TRIPCTL_VIEW_LINE], filter[4 * TRIPCTL_VIEW_FILTER + 1];
	char every[TRIPCTL_TEXT_NUMBER] = "";

	if (screen->slowed_ns > 0)
		tripctl_text_time(screen->slowed_ns, every);
	if (screen->typing)
		snprintf(line, sizeof(line), "filter: %s_",
			tripctl_text_escape(screen->typed, filter, sizeof(filter)));
	else
		snprintf(line, sizeof(line), "%zu of %zu by %s%s%s%s%s%s", view->n_rows,
			tripctl_view_now(view)->cntrs.n, tripctl_view_sorts[view->sort],
			view->filter[0] != 0 ? ", filter " : "",
			tripctl_text_escape(view->filter, filter, sizeof(filter)),
			every[0] != 0 ? ", each " : "", every, screen->paused ? ", paused" : "");
	put(y, line, screen->typing || screen->paused ? A_BOLD : A_NORMAL);
}

/* On a small terminal the counters come first. */
static unsigned int
homes_shown(const struct tripctl_view *view)
{
	unsigned int most = LINES >= 12 ? (unsigned int)LINES / 4 : 0;
	unsigned int n = tripctl_view_now(view)->n_homes;

	return n < most ? n : most;
}

static size_t
quotas_shown(const struct tripctl_view *view)
{
	size_t most = LINES >= 12 ? (size_t)LINES / 4 : 0;

	return view->n_quotas < most ? view->n_quotas : most;
}

static void
keep_in_range(struct tripctl_screen *screen)
{
	size_t n = screen->hitters != NULL ? screen->hitters->n_rows : screen->view->n_rows;

	if (screen->first + screen->room > n)
		screen->first = n > screen->room ? n - screen->room : 0;
}

static void
draw_counters(struct tripctl_screen *screen)
{
	const struct tripctl_view *view = screen->view;
	unsigned int width = width_of_screen(), homes = homes_shown(view);
	char line[TRIPCTL_VIEW_LINE];
	int y = 0;

	erase();
	tripctl_view_domain(view, width, line);
	put(y++, line, A_BOLD);
	for (unsigned int i = 0; i < homes; i++) {
		tripctl_view_home(view, i, width, line);
		put(y++, line, A_NORMAL);
	}
	for (size_t i = 0; i < quotas_shown(view); i++) {
		tripctl_view_quota(view, i, width, line);
		put(y++, line, A_NORMAL);
	}
	draw_status(screen, y++);
	tripctl_view_titles(width, line);
	put(y++, line, A_REVERSE);
	screen->room = LINES > y + 1 ? (size_t)(LINES - y - 1) : 0;
	keep_in_range(screen);
	for (size_t i = 0; i < screen->room && screen->first + i < view->n_rows; i++) {
		tripctl_view_row(view, screen->first + i, width, line);
		put(y++, line, view->rows[screen->first + i].missing == 0 ? A_BOLD : A_NORMAL);
	}
	if (LINES > 4)
		put(LINES - 1, keys_line, A_DIM);
	refresh();
}

static void
draw_hitters(struct tripctl_screen *screen)
{
	const struct tripctl_hitters *hitters = screen->hitters;
	unsigned int width = width_of_screen();
	char line[TRIPCTL_HITTERS_LINE];
	int y = 0;

	erase();
	tripctl_hitters_head(hitters, width, line);
	put(y++, line, A_BOLD);
	snprintf(line, sizeof(line), "%zu first keys by %s%s", hitters->n_rows,
		tripctl_hitters_sorts[hitters->sort], screen->paused ? ", paused" : "");
	put(y++, line, screen->paused ? A_BOLD : A_NORMAL);
	tripctl_hitters_titles(width, line);
	put(y++, line, A_REVERSE);
	screen->room = LINES > y + 1 ? (size_t)(LINES - y - 1) : 0;
	keep_in_range(screen);
	for (size_t i = 0; i < screen->room && screen->first + i < hitters->n_rows; i++) {
		tripctl_hitters_row(hitters, screen->first + i, width, line);
		put(y++, line, A_NORMAL);
	}
	if (LINES > 4)
		put(LINES - 1, hitters_line, A_DIM);
	refresh();
}

void
tripctl_screen_draw(struct tripctl_screen *screen)
{
	if (screen->hitters != NULL)
		draw_hitters(screen);
	else
		draw_counters(screen);
}

static void
sort_by(struct tripctl_screen *screen, enum tripctl_sort sort)
{
	screen->view->sort = sort;
	screen->first = 0;
	(void)tripctl_view_choose(screen->view);
}

static void
type_key(struct tripctl_screen *screen, int key)
{
	size_t length = strlen(screen->typed);

	if (key == '\n' || key == '\r' || key == KEY_ENTER) {
		strcpy(screen->view->filter, screen->typed);
		sort_by(screen, screen->view->sort);
		screen->typing = false;
	} else if (key == 27) {
		screen->typing = false;
	} else if ((key == KEY_BACKSPACE || key == 127 || key == 8) && length > 0) {
		screen->typed[length - 1] = 0;
	} else if (key >= 0x20 && key < 0x7f && length + 1 < sizeof(screen->typed)) {
		screen->typed[length] = (char)key;
		screen->typed[length + 1] = 0;
	}
}

static void
scroll_by(struct tripctl_screen *screen, size_t rows, bool down)
{
	if (down)
		screen->first += rows;
	else
		screen->first -= rows < screen->first ? rows : screen->first;
	keep_in_range(screen);
}

/* Keys that are of counters alone. */
static void
press_counters(struct tripctl_screen *screen, int key)
{
	switch (key) {
	case 's':
		sort_by(screen, (screen->view->sort + 1) % TRIPCTL_SORTS);
		break;
	case 'n':
		sort_by(screen, TRIPCTL_SORT_NAME);
		break;
	case 'v':
		sort_by(screen, TRIPCTL_SORT_VALUE);
		break;
	case 'r':
		sort_by(screen, TRIPCTL_SORT_RATE);
		break;
	case 'l':
		sort_by(screen, TRIPCTL_SORT_LEFT);
		break;
	case 'p':
		screen->paused = !screen->paused;
		break;
	case '/':
		screen->typing = true;
		strcpy(screen->typed, screen->view->filter);
		break;
	default:
		break;
	}
}

/* The order is that of the next reading, too, which brings those that come first by it. */
static void
press_hitters(struct tripctl_screen *screen, int key)
{
	static const char keys[TRIPCTL_HITTERS_SORTS + 1] = "pbrk";
	struct tripctl_hitters *hitters = screen->hitters;
	const char *at = key > 0 && key < 0x7f ? strchr(keys, key) : NULL;

	if (key == 's')
		hitters->sort = (hitters->sort + 1) % TRIPCTL_HITTERS_SORTS;
	else if (at != NULL)
		hitters->sort = (enum tripctl_hitters_sort)(at - keys);
	else
		return;
	screen->first = 0;
	tripctl_hitters_choose(hitters);
}

/* True: it is to end. */
static bool
press(struct tripctl_screen *screen, int key)
{
	switch (key) {
	case 'q':
		return true;
	case ' ':
		screen->paused = !screen->paused;
		break;
	case KEY_UP:
	case KEY_DOWN:
		scroll_by(screen, 1, key == KEY_DOWN);
		break;
	case KEY_PPAGE:
	case KEY_NPAGE:
		scroll_by(screen, screen->room, key == KEY_NPAGE);
		break;
	case KEY_HOME:
		screen->first = 0;
		break;
	case KEY_END:
		scroll_by(screen, SIZE_MAX / 2, true);
		break;
	default:
		if (screen->hitters != NULL)
			press_hitters(screen, key);
		else
			press_counters(screen, key);
		break;
	}
	return false;
}

bool
tripctl_screen_keys(struct tripctl_screen *screen)
{
	int key;

	while ((key = getch()) != ERR) {
		/* What terminals make of the old picture differs. */
		if (key == KEY_RESIZE) {
			clearok(curscr, TRUE);
			continue;
		}
		if (screen->typing)
			type_key(screen, key);
		else if (press(screen, key))
			return true;
	}
	return false;
}
