/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fail.h"
#include "program.h"
#include "rules.h"

int
tripd_program_check(const char *path)
{
	struct stat status;

	if (stat(path, &status) != 0)
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -EACCES;
	return access(path, X_OK) == 0 ? 0 : -errno;
}

int
tripd_program_check_all(const struct trip_rules *rules)
{
	unsigned int n = 0;
	int ret = 0;

	for (unsigned int i = 0; i < rules->n_whens; i++) {
		const struct trip_rules_when *when = &rules->whens[i];
		bool is_exec = when->op == TRIP_RULES_OP_EXEC && when->text != NULL;
		int error = is_exec ? tripd_program_check(when->text) : 0;

		n += is_exec;
		if (error != 0)
			ret = tripd_fail(error, "line %u of the rules: exec %s: %s", when->line,
				when->text, strerror(-error));
	}
	if (n > TRIPD_EXEC_MAX)
		ret = tripd_fail(
			-E2BIG, "the rules have %u exec: the limit is %u", n, TRIPD_EXEC_MAX);
	return ret;
}
