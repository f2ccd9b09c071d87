"""Documents: sent, followed, fetched, uploaded in parts, cancelled."""
import hashlib
import time
import xml.etree.ElementTree as ET

import documents
import shapes

STATUS_AFTER_SEND = 3.0
RECEIPT_AFTER_STATUS = 5.0
STATUS_EVERY = 1.0
LONGEST_PROCESSING = 30.0
PART_BYTES = 400000


class Sent:
    """A document that was sent, and what is known of it."""

    def __init__(self, name, xml, request_id, document_id):
        self.name = name
        self.xml = xml
        self.request_id = request_id
        self.document_id = document_id
        self.sent_at = time.monotonic()
        self.final_at = None
        self.record = {}


def send(session, report, name, xml, **more):
    request_id = documents.new_id()
    body = report.shape('send of %s' % name, shapes.SENT, session.send(xml, request_id, **more))
    return Sent(name, xml, request_id, body.get('document_id'))


def follow(session, report, sent, expected):
    """Reads the status, at the earliest 3 s after the send, until it is final."""
    time.sleep(max(0.0, sent.sent_at + STATUS_AFTER_SEND - time.monotonic()))
    while True:
        answer = session.get('document', 'documents/' + str(sent.document_id))
        sent.record = answer.json() if answer.status == 200 else {}
        final = sent.record.get('doc_status') in shapes.FINAL_STATUSES
        if final or time.monotonic() > sent.sent_at + LONGEST_PROCESSING:
            break
        time.sleep(STATUS_EVERY)
    sent.final_at = time.monotonic()
    report.shape('metadata of %s' % sent.name, shapes.DOCUMENT, answer)
    report.true('status of %s' % sent.name, sent.record.get('doc_status') in expected, sent.record.get('doc_status'))


def metadata(report, sent, settings, doc_type):
    """The metadata say what was sent."""
    record = sent.record
    said = [record.get(name) for name in ('request_id', 'document_id', 'sender', 'sys_id', 'doc_type',
                                          'file_uploadtype', 'version')]
    expected = [sent.request_id, sent.document_id, settings['place'], settings['system_id'], doc_type, 2,
                documents.VERSION]
    report.equal('metadata of %s say what was sent' % sent.name, expected, said)


def fetch(session, report, what, method, path):
    """The bytes behind a link, which needs the token too."""
    body = report.shape('link to %s' % what, shapes.LINK, session.get(method, path))
    link = body.get('link', session.base_url + 'no-link')
    answer = session.get('file', link)
    report.status('file of %s' % what, 200, answer)
    report.status('file of %s without a token' % what, 401, session.exchange('GET', link))
    return answer.body


def fetch_receipt(session, report, sent, result, operation):
    """At the earliest 5 s after the final status. Returns the objects that it names as wrong."""
    action = _receipt(session, report, sent)
    if action is None:
        return []
    named = (action.tag, action.get('action_id'), bool(action.get('accept_time')), action.findtext('operation'),
             action.findtext('operation_id'), action.findtext('operation_result'))
    report.equal('receipt of %s' % sent.name, ('result', '200', True, operation, sent.request_id, result), named)
    wrong = documents.out_of_order(action, documents.RECEIPT)
    report.check('order of the receipt of %s' % sent.name, '; '.join(wrong) or None)
    return [error.findtext('object_id') for error in action.iter('errors')]


def fetch_hierarchy(session, report, sent, sscc):
    action = _receipt(session, report, sent)
    if action is None:
        return
    report.equal('receipt of %s is a 221' % sent.name, ('hierarchy_info', '221'), (action.tag, action.get('action_id')))
    wrong = documents.out_of_order(action, documents.HIERARCHY)
    report.check('order of the receipt of %s' % sent.name, '; '.join(wrong[:3]) or None)
    report.equal('receipt of %s begins with the asked unit' % sent.name, sscc,
                 action.findtext('sscc_down/sscc_info/sscc'))


def _receipt(session, report, sent):
    time.sleep(max(0.0, sent.final_at + RECEIPT_AFTER_STATUS - time.monotonic()))
    xml = fetch(session, report, 'the receipt of %s' % sent.name, 'ticket', 'documents/%s/ticket' % sent.document_id)
    action = documents.receipt(xml)
    report.true('receipt of %s is a document' % sent.name, action is not None, xml[:200])
    return action


def fetch_document(session, report, sent):
    xml = fetch(session, report, 'the document', 'download', 'documents/download/%s' % sent.document_id)
    report.true('downloaded document is what was sent', ET.canonicalize(xml.decode('utf-8-sig')) == ET.canonicalize(
        sent.xml.decode('utf-8')), xml[:200])


def by_request_id(session, report, sent):
    body = report.shape('documents by request_id', shapes.DOCUMENTS,
                        session.get('by request_id', 'documents/request/' + sent.request_id))
    found = [record.get('document_id') for record in body.get('documents', [])]
    report.equal('document by its request_id', ([sent.document_id], 1), (found, body.get('total')))


def unknown_documents(session, report):
    report.status('unknown document', 404, session.get('document', 'documents/' + documents.new_id()))
    answer = session.get('signature', 'documents/%s/signature' % documents.new_id(), {'Accept': 'text/plain'})
    report.true('signature of an unknown document', answer.status in (404, 406), answer)


def upload_large(session, report, xml, most_bytes):
    """A document that is too large for `send`, in parts."""
    request_id = documents.new_id()
    opened = _open_large(session, report, 'send_large', xml, request_id)
    report.true('document is larger than doc_size', len(xml) * 4 / 3 > most_bytes, (len(xml), most_bytes))
    for first in range(0, len(xml), PART_BYTES):
        part = xml[first:first + PART_BYTES]
        answer = session.put_part(opened.get('link'), part, (first, first + len(part) - 1, len(xml)))
        report.true('part from byte %d' % first, 200 <= answer.status < 300, answer)
    finished = report.shape('send_finished', shapes.FINISHED, session.post(
        'send_finished', 'documents/send_finished', {'document_id': opened.get('document_id')}))
    report.equal('request_id of send_finished', request_id, finished.get('request_id'))
    return Sent('the large document', xml, request_id, opened.get('document_id'))


def _open_large(session, report, what, xml, request_id):
    body = session.signed(xml, {'hash_sum': hashlib.sha256(xml).hexdigest(), 'request_id': request_id})
    return report.shape(what, shapes.LARGE, session.post('send_large', 'documents/send_large', body))


def cancel(session, report, xml):
    """An upload that was opened and is taken back."""
    request_id = documents.new_id()
    opened = _open_large(session, report, 'send_large of what is cancelled', xml, request_id)
    answer = session.post('cancel', 'documents/cancel', {
        'document_id': opened.get('document_id'), 'request_id': request_id})
    report.status('cancel', 200, answer)
    report.equal('body of cancel', b'', answer.body)
    answer = session.post('cancel', 'documents/cancel', {'document_id': 'no-guid', 'request_id': 'no-guid'})
    report.status('cancel with what is no GUID', 400, answer)
    report.shape_of('body of a 400', shapes.ERROR, answer.json())
