/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Periods by the calendar. Minutes and hours are counted from the local time's offset: where that
 * moves, no hour is skipped or lasts two. Days and months are mktime()'s, which knows how long each
 * is. Of a time of the day that comes twice it is the first, and one that is skipped comes as much
 * later as is skipped.
 */
#include <time.h>

#include "period.h"

static int64_t
end_of_span(int64_t now, int64_t seconds)
{
	time_t at = (time_t)now;
	struct tm local;
	int64_t offset;

	localtime_r(&at, &local);
	offset = local.tm_gmtoff;
	return (now + offset - (now + offset) % seconds) + seconds - offset;
}

/* The first moment of this local time, which mktime() would choose by what it was asked before. It
 * is asked by either kind of time, and changes the kind where the local time has none of that: both
 * are right of one that comes twice, neither of one that is skipped. In winter it may be either. */
static int64_t
first_of(const struct tm *local)
{
	struct tm moved = *local, usual = *local;
	int64_t by_moved, by_usual;

	moved.tm_isdst = 1;
	usual.tm_isdst = 0;
	by_moved = mktime(&moved);
	by_usual = mktime(&usual);
	if ((moved.tm_isdst > 0) == (usual.tm_isdst > 0))
		return moved.tm_isdst > 0 ? by_moved : by_usual;
	return (by_moved < by_usual) == (moved.tm_isdst > 0) ? by_moved : by_usual;
}

/* The beginning of one of its periods, of which so many days or months come before. */
static int64_t
beginning(const struct trip_rules_quota *quota, const struct tm *local, int later)
{
	struct tm begins = {
		.tm_year = local->tm_year,
		.tm_mon = local->tm_mon,
		.tm_mday = local->tm_mday,
		.tm_hour = (int)(quota->second / 3600),
		.tm_min = (int)(quota->second / 60 % 60),
		.tm_sec = (int)(quota->second % 60),
	};

	if (quota->per == TRIP_RULES_PERIOD_MONTH) {
		begins.tm_mday = (int)quota->day;
		begins.tm_mon += later;
	} else {
		begins.tm_mday += later;
	}
	return first_of(&begins);
}

int64_t
trip_apply_period_end(const struct trip_rules_quota *quota, int64_t now)
{
	time_t at = (time_t)now;
	struct tm local;
	int64_t end;

	switch (quota->per) {
	case TRIP_RULES_PERIOD_NONE:
		return INT64_MAX;
	case TRIP_RULES_PERIOD_MINUTE:
		return end_of_span(now, 60);
	case TRIP_RULES_PERIOD_HOUR:
		return end_of_span(now, 3600);
	default:
		localtime_r(&at, &local);
		for (int later = 0; (end = beginning(quota, &local, later)) <= now; later++)
			;
		return end;
	}
}
