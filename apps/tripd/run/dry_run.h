/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPD_DRY_RUN_H
#define TRIPD_DRY_RUN_H

struct tripd_options;
struct tripd_run;

/* Reads the rules file and says what is wrong with it, or what it holds. Returns the exit code. */
int tripd_dry_run_check(const struct tripd_options *options);

/* Says what a prepared run would take, and the engine of each rule. Returns the exit code. */
int tripd_dry_run(struct tripd_run *run);

#endif
