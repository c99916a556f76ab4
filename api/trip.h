/* SPDX-License-Identifier: BSD-3-Clause */
/* All of Tripline's public interface. */
#ifndef TRIP_H
#define TRIP_H

#include <trip_client.h>
#include <trip_cntr.h>
#include <trip_command.h>
#include <trip_counters.h>
#include <trip_domain.h>
#include <trip_each.h>
#include <trip_error.h>
#include <trip_flow.h>
#include <trip_flow_item.h>
#include <trip_metrics.h>
#include <trip_poll.h>
#include <trip_port.h>
#include <trip_profile.h>
#include <trip_set.h>
#include <trip_version.h>
#include <trip_wait.h>
#include <trip_work.h>

#endif
