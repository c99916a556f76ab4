/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of IPFIX, by libfixbuf, which only makes them: how they go is collector.h's. One thread
 * uses it. What a record tells of is exported once the message with it has been taken.
 */
#ifndef TRIPD_MESSAGE_H
#define TRIPD_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include <fixbuf/public.h>

#include "collector.h"
#include "tally.h"

/* Records of one message that tell of a tally. */
#define TRIPD_MESSAGE_TALLIES 2048
#define TRIPD_MESSAGE_TEMPLATES 4096

struct tripd_message {
	const struct tripd_ipfix_options *options;
	struct tripd_collector *collector;
	fbInfoModel_t *model;
	/* Of a connection; NULL: there is none. */
	fBuf_t *buf;
	fbSession_t *session;
	fbExporter_t *exporter;
	/* What is lost will not go again. */
	bool last;
	/* Templates of the connection, in the order in which they came. */
	uint16_t templates[TRIPD_MESSAGE_TEMPLATES];
	unsigned int n_templates;
	/* What the message has records of, how many records it has, and the one before had. */
	struct tripd_tally *tallies[TRIPD_MESSAGE_TALLIES];
	unsigned int n_tallies, n_records, n_before;
	/* Records that nobody got, for all that is known, but for those of tallies, which go again;
	 * and of datagrams all of them. */
	uint64_t lost;
	uint8_t bytes[UINT16_MAX];
};

/* Returns 0 or -ENOMEM. */
int tripd_message_init(struct tripd_message *message, const struct tripd_ipfix_options *options,
	struct tripd_collector *collector);

void tripd_message_free(struct tripd_message *message);

/* A connection has begun: it has no templates but that of types. Returns 0 or a negative errno. */
int tripd_message_begin(struct tripd_message *message);

/* It has ended, and what was in the message is lost. */
void tripd_message_end(struct tripd_message *message);

/* Tells the template of records that are `specs`, the first n_scope of which are a scope. Records
 * are these, one behind the other, in the order of the machine; strings are fbVarfield_t. Returns
 * 0, -ENOSPC: there are too many templates, or what tripd_message_put() does. */
int tripd_message_template(
	struct tripd_message *message, uint16_t id, fbInfoElementSpec_t *specs, uint16_t n_scope);

/* Tells the types of elements that are tripd's own. */
int tripd_message_types(struct tripd_message *message);

/* Tells types and all templates again, which is for datagrams. */
int tripd_message_refresh(struct tripd_message *message);

/* Puts a record into the message, which goes where it is full. `tally` is what it tells of, or
 * NULL. Returns 0, or -EMSGSIZE: it is too long for any message; or what tripd_message_flush()
 * does. */
int tripd_message_put(struct tripd_message *message, uint16_t id, void *record, size_t size,
	struct tripd_tally *tally);

/* Sends the message. Returns 0, or a negative errno where the connection has ended. */
int tripd_message_flush(struct tripd_message *message);

#endif
