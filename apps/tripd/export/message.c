/* SPDX-License-Identifier: BSD-3-Clause */
/* libfixbuf writes messages to a buffer, never by itself: whoever fills one sends it. */
#include <errno.h>
#include <string.h>

#include "message.h"
#include "model.h"

/* Datagrams are not to be fragmented. */
#define DATAGRAM_MAX 1400
#define STREAM_MAX 16384

int
tripd_message_init(struct tripd_message *message, const struct tripd_ipfix_options *options,
	struct tripd_collector *collector)
{
	*message = (struct tripd_message){.options = options, .collector = collector};
	message->model = fbInfoModelAlloc();
	tripd_model_add(message->model, options->enterprise);
	return 0;
}

void
tripd_message_free(struct tripd_message *message)
{
	tripd_message_end(message);
	if (message->model != NULL)
		fbInfoModelFree(message->model);
	message->model = NULL;
}

static void
empty(struct tripd_message *message)
{
	message->n_tallies = message->n_records = 0;
}

/* Of datagrams a record of a tally is gone for good, as others are. */
static void
lose(struct tripd_message *message, unsigned int n, unsigned int n_tallies)
{
	bool gone = message->last || message->options->kind == TRIPD_IPFIX_UDP;

	message->lost += gone ? n : n - n_tallies;
}

void
tripd_message_end(struct tripd_message *message)
{
	lose(message, message->n_records, message->n_tallies);
	empty(message);
	message->n_before = 0;
	message->n_templates = 0;
	if (message->buf != NULL)
		fBufFree(message->buf);
	message->buf = NULL;
}

static int
is_full(GError **error)
{
	bool full = g_error_matches(*error, FB_ERROR_DOMAIN, FB_ERROR_EOM);

	g_clear_error(error);
	return full;
}

static void
note_sent(struct tripd_message *message)
{
	for (unsigned int i = 0; i < message->n_tallies; i++)
		tripd_tally_sent(message->tallies[i]);
	message->n_before = message->n_records;
	empty(message);
}

int
tripd_message_flush(struct tripd_message *message)
{
	GError *error = NULL;
	int ret = 0;

	if (message->buf == NULL)
		return -ENOTCONN;
	/* Where nothing is in the message, none is written. */
	message->bytes[1] = 0;
	if (!fBufEmit(message->buf, &error)) {
		g_clear_error(&error);
		ret = -EIO;
	} else if (message->bytes[1] != 0) {
		ret = tripd_collector_send(
			message->collector, message->bytes, fbExporterGetMsgLen(message->exporter));
	}
	if (ret == -ECONNREFUSED && message->options->kind == TRIPD_IPFIX_UDP) {
		message->lost += message->n_before;
		ret = 0;
	}
	if (ret == 0)
		note_sent(message);
	else
		tripd_message_end(message);
	return ret;
}

typedef gboolean (*write_t)(struct tripd_message *message, const void *what, GError **error);

/* Writes into the message, or into the next one where that is full. */
static int
put(struct tripd_message *message, write_t write, const void *what)
{
	GError *error = NULL;
	int ret = 0;

	for (unsigned int i = 0; ret == 0 && i < 2; i++) {
		if (message->buf == NULL)
			return -ENOTCONN;
		if (write(message, what, &error))
			return 0;
		if (!is_full(&error))
			return -EMSGSIZE;
		ret = tripd_message_flush(message);
	}
	return ret == 0 ? -EMSGSIZE : ret;
}

struct record {
	uint16_t id;
	void *bytes;
	size_t size;
};

static gboolean
write_record(struct tripd_message *message, const void *what, GError **error)
{
	const struct record *record = what;

	return fBufSetInternalTemplate(message->buf, record->id, error) &&
	       fBufSetExportTemplate(message->buf, record->id, error) &&
	       fBufAppend(message->buf, record->bytes, record->size, error);
}

int
tripd_message_put(struct tripd_message *message, uint16_t id, void *record, size_t size,
	struct tripd_tally *tally)
{
	const struct record what = {id, record, size};
	int ret = 0;

	if (message->n_tallies == TRIPD_MESSAGE_TALLIES)
		ret = tripd_message_flush(message);
	if (ret == 0)
		ret = put(message, write_record, &what);
	if (ret != 0)
		return ret;
	message->n_records++;
	if (tally != NULL)
		message->tallies[message->n_tallies++] = tally;
	return 0;
}

static gboolean
write_template(struct tripd_message *message, const void *what, GError **error)
{
	const uint16_t *id = what;

	return fbSessionExportTemplate(message->session, *id, error);
}

static int
put_template(struct tripd_message *message, uint16_t id)
{
	return put(message, write_template, &id);
}

static gboolean
write_type(struct tripd_message *message, const void *what, GError **error)
{
	const fbInfoElement_t *element = what;

	return fbInfoElementWriteOptionsRecord(
		message->buf, element, TRIPD_MODEL_TYPES, TRIPD_MODEL_TYPES, error);
}

static int
put_type(struct tripd_message *message, const fbInfoElement_t *element)
{
	int ret = put(message, write_type, element);

	message->n_records += ret == 0;
	return ret;
}

struct added {
	uint16_t id;
	fbTemplate_t *template;
};

static gboolean
add_template(struct tripd_message *message, const void *what, GError **error)
{
	const struct added *added = what;

	return fbSessionAddTemplate(message->session, FALSE, added->id, added->template, error) !=
	       0;
}

int
tripd_message_template(
	struct tripd_message *message, uint16_t id, fbInfoElementSpec_t *specs, uint16_t n_scope)
{
	fbTemplate_t *template;
	GError *error = NULL;

	if (message->buf == NULL)
		return -ENOTCONN;
	if (message->n_templates == TRIPD_MESSAGE_TEMPLATES)
		return -ENOSPC;
	template = fbTemplateAlloc(message->model);
	if (!fbTemplateAppendSpecArray(template, specs, UINT32_MAX, &error)) {
		fbTemplateFreeUnused(template);
		g_clear_error(&error);
		return -EMSGSIZE;
	}
	if (n_scope > 0)
		fbTemplateSetOptionsScope(template, n_scope);
	/* As an internal one it is the connection's, which frees it. */
	if (fbSessionAddTemplate(message->session, TRUE, id, template, &error) == 0) {
		fbTemplateFreeUnused(template);
		g_clear_error(&error);
		return -EMSGSIZE;
	}
	message->templates[message->n_templates++] = id;
	return put(message, add_template, &(struct added){id, template});
}

int
tripd_message_types(struct tripd_message *message)
{
	int ret = 0;

	for (unsigned int i = 0; ret == 0 && i < TRIPD_MODEL_OWN; i++)
		ret = put_type(message, fbInfoModelGetElementByID(message->model, (uint16_t)(i + 1),
						message->options->enterprise));
	return ret;
}

int
tripd_message_refresh(struct tripd_message *message)
{
	int ret = put_template(message, TRIPD_MODEL_TYPES);

	if (ret == 0)
		ret = tripd_message_types(message);
	for (unsigned int i = 0; ret == 0 && i < message->n_templates; i++)
		ret = put_template(message, message->templates[i]);
	return ret == 0 ? tripd_message_flush(message) : ret;
}

/* Before there is a buffer, a template is not written to it. */
int
tripd_message_begin(struct tripd_message *message)
{
	uint16_t size = message->options->kind == TRIPD_IPFIX_UDP ? DATAGRAM_MAX : STREAM_MAX;
	GError *error = NULL;

	empty(message);
	message->session = fbSessionAlloc(message->model);
	fbSessionSetDomain(message->session, message->options->domain);
	if (fbSessionSetMetadataExportElements(
		    message->session, FALSE, TRIPD_MODEL_TYPES, &error) == 0) {
		g_clear_error(&error);
		fbSessionFree(message->session);
		return -EIO;
	}
	message->exporter = fbExporterAllocBuffer(message->bytes, size);
	message->buf = fBufAllocForExport(message->session, message->exporter);
	fBufSetAutomaticMode(message->buf, FALSE);
	return put_template(message, TRIPD_MODEL_TYPES);
}
