/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What libbpf and libxdp say, which net_af_xdp goes by. They warn of each thing that they try first
 * and do without, so it is kept back until it is known whether a port starts.
 */
#ifndef TRIPD_XDP_WORDS_H
#define TRIPD_XDP_WORDS_H

/* From here on, where they are loaded. */
void tripd_xdp_words_keep(void);

/* Says on stderr what has been kept so far. */
void tripd_xdp_words_tell(void);

#endif
