/* SPDX-License-Identifier: BSD-3-Clause */
/* tripd: counts flows on DPDK ports, and acts when a count crosses a threshold. See tripd.8. */
#include "demo/demo.h"
#include "run/run.h"
#include "start/options.h"
#include "whole_output.h"

int
main(int argc, char **argv)
{
	struct tripd_options options;

	whole_output_watch("tripd");
	tripd_options_parse(argc, argv, &options);
	if (options.check)
		return tripd_dry_run_check(&options);
	return options.demo ? tripd_demo_run(&options) : tripd_run_rules(&options);
}
