# SPDX-License-Identifier: BSD-3-Clause
"""Reads IPFIX (RFC 7011) by itself: what has a name that is not below has it from the records of RFC 5610."""
import ipaddress
import struct

NAMES = {1: 'octetDeltaCount', 2: 'packetDeltaCount', 4: 'protocolIdentifier', 7: 'sourceTransportPort',
         8: 'sourceIPv4Address', 9: 'sourceIPv4PrefixLength', 11: 'destinationTransportPort', 12: 'destinationIPv4Address',
         13: 'destinationIPv4PrefixLength', 27: 'sourceIPv6Address', 28: 'destinationIPv6Address',
         29: 'sourceIPv6PrefixLength', 30: 'destinationIPv6PrefixLength', 58: 'vlanId', 61: 'flowDirection',
         70: 'mplsTopLabelStackSection', 138: 'observationPointId', 144: 'exportingProcessId',
         152: 'flowStartMilliseconds', 153: 'flowEndMilliseconds', 166: 'notSentFlowTotalCount',
         303: 'informationElementId', 325: 'observationTimeNanoseconds', 335: 'selectorName',
         339: 'informationElementDataType', 340: 'informationElementDescription', 341: 'informationElementName',
         342: 'informationElementRangeBegin', 343: 'informationElementRangeEnd', 344: 'informationElementSemantics',
         345: 'informationElementUnits', 346: 'privateEnterpriseNumber', 351: 'layer2SegmentId'}
TEXTS = 'selectorName', 'informationElementName', 'informationElementDescription'
UNSIGNED, SIGNED, BOOLEAN, STRING = (1, 2, 3, 4), (5, 6, 7, 8), 11, 13


def sets(data):
    """The kinds of all sets, in order."""
    at = 0
    while len(data) - at >= 16 and len(data) - at >= (length := struct.unpack_from('!H', data, at + 2)[0]):
        end, at = at + length, at + 16
        while at < end:
            kind, length = struct.unpack_from('!HH', data, at)
            yield kind
            at += length


class Stream:
    """Messages of one session, in the order in which they came. `records` are of templates with any scope, or none: a
    dict of each, by the names of its elements, and `template`. What is wrong raises ValueError."""

    def __init__(self, enterprise=32473, lossy=False):
        self.enterprise, self.lossy = enterprise, lossy
        self.templates, self.own, self.records = {}, {}, []
        self.domain, self.sequence, self.n_messages, self.unknown = None, None, 0, 0
        # Of templates, how often each came.
        self.told = {}

    def feed(self, data):
        """Takes whole messages. Returns what is left, the front of one."""
        while len(data) >= 16:
            version, length, _, sequence, domain = struct.unpack_from('!HHIII', data)
            if version != 10 or length < 16:
                raise ValueError(f'version {version}, length {length}')
            if len(data) < length:
                break
            if self.sequence is None and (self.lossy or sequence == 0):
                self.sequence = sequence
            if sequence != self.sequence and not self.lossy:
                raise ValueError(f'the sequence number is {sequence}, not {self.sequence}')
            if self.domain not in (None, domain):
                raise ValueError(f'domain {domain}')
            self.sequence, self.domain = sequence, domain
            self.n_messages += 1
            self.take_message(data[16:length])
            data = data[length:]
        return data

    def take_message(self, data):
        if not data:
            raise ValueError('a message without sets')
        while data:
            kind, length = struct.unpack_from('!HH', data)
            if length <= 4 or length > len(data):
                raise ValueError(f'a set of {length} bytes')
            if kind in (2, 3):
                self.take_templates(data[4:length], kind == 3)
            elif kind in self.templates:
                self.take_records(kind, data[4:length])
            elif self.lossy:
                self.unknown += 1
            else:
                raise ValueError(f'records of the template {kind}, which has not come')
            data = data[length:]

    def take_templates(self, data, options):
        while len(data) >= 4:
            number, n = struct.unpack_from('!HH', data)
            data = data[6 if options else 4:]
            fields = []
            for _ in range(n):
                element, size = struct.unpack_from('!HH', data)
                data, enterprise = data[4:], 0
                if element & 0x8000:
                    enterprise, data = struct.unpack_from('!I', data)[0], data[4:]
                    element &= 0x7fff
                fields.append((enterprise, element, size))
            if self.templates.get(number, fields) != fields:
                raise ValueError(f'the template {number} is another one')
            self.templates[number] = fields
            self.told[number] = self.told.get(number, 0) + 1

    def take_records(self, template, data):
        while data:
            record = {'template': template}
            for enterprise, element, size in self.templates[template]:
                if size == 65535:
                    size, data = data[0], data[1:]
                    if size == 255:
                        size, data = struct.unpack_from('!H', data)[0], data[2:]
                if size > len(data):
                    raise ValueError('a record that is cut')
                record[(enterprise, element)], data = data[:size], data[size:]
            self.sequence += 1
            if self.lossy and any(self.is_unknown(*of) for of in record if of != 'template'):
                self.unknown += 1
            else:
                self.records.append(self.named(record))

    def is_unknown(self, enterprise, element):
        """One whose type has not come, as who begins to listen between two datagrams has missed it."""
        return enterprise == self.enterprise and element not in self.own

    def named(self, record):
        named = {'template': record.pop('template')}
        for (enterprise, element), value in record.items():
            if enterprise == 0:
                name = NAMES[element]
                named[name] = value.decode() if name in TEXTS else \
                    str(ipaddress.ip_address(value)) if 'Address' in name else int.from_bytes(value, 'big')
            elif enterprise == self.enterprise and element in self.own:
                name, kind = self.own[element]
                if kind not in UNSIGNED + SIGNED + (BOOLEAN, STRING):
                    raise ValueError(f'{name} is of type {kind}')
                named[name] = value.decode() if kind == STRING else {b'\1': True, b'\2': False}[value] if kind == BOOLEAN else \
                    int.from_bytes(value, 'big', signed=kind in SIGNED)
            else:
                raise ValueError(f'element {element} of enterprise {enterprise}, whose type has not come')
        if 'informationElementName' in named:
            if named['privateEnterpriseNumber'] != self.enterprise or not named['informationElementDescription']:
                raise ValueError(f'the type {named}')
            self.own[named['informationElementId']] = named['informationElementName'], named['informationElementDataType']
        return named

    def names(self):
        """Of statements, by their numbers."""
        return {record['observationPointId']: record['selectorName'] for record in self.records if 'selectorName' in record}

    def of(self, name, element):
        """Records about a statement that have the element."""
        names = self.names()
        return [record for record in self.records
                if element in record and names.get(record.get('observationPointId')) == name]
