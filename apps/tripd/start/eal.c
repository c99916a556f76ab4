/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts EAL, and keeps back what it says unless it fails. */
#include <rte_log.h>

#include "eal.h"
#include "options.h"
#include "quiet_eal.h"
#include "words.h"
#include "xdp_words.h"

int
tripd_eal_start(struct tripd_words *words, bool verbose)
{
	/* --help writes and exits. */
	if (quiet_eal_start("tripd", words->argc, words->argv, !verbose && !words->help) != 0)
		return TRIPD_EXIT_RUN;
	if (verbose)
		return 0;
	tripd_xdp_words_keep();
	if (rte_log_get_global_level() > RTE_LOG_ERR)
		rte_log_set_global_level(RTE_LOG_ERR);
	/* No shared files, no secondaries: net_tap calls that an error. */
	if (words->in_memory || words->no_shconf)
		rte_log_set_level_pattern("pmd.net.tap", RTE_LOG_CRIT);
	return 0;
}
