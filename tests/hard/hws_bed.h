/* SPDX-License-Identifier: BSD-3-Clause */
/* hard_bed.h on mlx5 HWS as the test plays it (fake_hws.h): no driver runs here. */
#ifndef TRIP_HWS_BED_H
#define TRIP_HWS_BED_H

#include "fake_hws.h"
#include "hard_bed.h"

#define HWS_MANY 4000
#define HWS_SOME 300
/* Where template.h puts what was asked for in group 0. */
#define HWS_GROUP 0x7472
#define HWS_TABLES 128

extern struct trip_flow *hws_flows[HWS_MANY];

/* Everything up to what the flow engine of the port needs before its start; and from there. */
void hws_open_stopped(void);
void hws_open_started(uint32_t flow_queue);
void hws_open(void);
/* A device that keeps no counter when it stops. */
void hws_open_forgetful(void);
void hws_close(void);
/* What is left is the driver's to throw away, with the port. */
void hws_close_with_rest(void);

/* UDP by its ports, each with its mask. */
const struct rte_flow_item *hws_masked(uint16_t src_mask, uint16_t dst, uint16_t dst_mask);

/* Hardware refuses it and says why; where it may be either, software counts it. */
void hws_expect_refused(const struct rte_flow_item *pattern, const struct trip_flow_attr *attr,
	int result, const char *why);

#endif
