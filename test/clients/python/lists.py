"""The lists of documents: paging and filters."""
import datetime

import documents
import shapes

PAGE = 2


def outcome(session, report, sent):
    """`sent` are documents of this run that all have a final status."""
    every = _list(session, report, 'outcome', {}, 0, 100)
    ids = _ids(every)
    report.true('outcome shows every document sent', all(one.document_id in ids for one in sent), ids)
    _pages(session, report, 'outcome', ids)
    first = sent[0]
    for what, wanted in (
            ('request_id', {'request_id': first.request_id}), ('document_id', {'document_id': first.document_id}),
            ('document_ids', {'document_ids': [first.document_id]}),
            ('doc_num', {'doc_num': 'PY-431', 'request_id': first.request_id})):
        found = _ids(_list(session, report, 'outcome', wanted, 0, 10, what))
        report.equal('outcome by %s' % what, [first.document_id], found)
    partial = _list(session, report, 'outcome', {'doc_type': 415, 'processing_document_status': 'PARTIAL'}, 0, 10,
                    'doc_type and processing_document_status')
    report.true('outcome by doc_type and processing_document_status', sent[1].document_id in _ids(partial) and all(
        record.get('processing_document_status') == 'PARTIAL' for record in partial.get('documents', [])), partial)


def dates(session, report, sent):
    """Filters by date in both formats, and with seven fractional digits as .NET clients write them."""
    hour = datetime.timedelta(hours=1)
    date = documents.moment(sent.record['date'])
    report.true('date of a document is Moscow time', abs(date - documents.moscow_now()) < 2 * hour, sent.record['date'])
    before, after = date - hour, date + hour
    for what, form in (('with a space', '%Y-%m-%d %H:%M:%S'), ('with T', '%Y-%m-%dT%H:%M:%S'),
                       ('with seven fractional digits', '%Y-%m-%dT%H:%M:%S.1234567')):
        inside = _list(session, report, 'outcome', {
            'start_date': before.strftime(form), 'end_date': after.strftime(form), 'request_id': sent.request_id},
            0, 10, 'dates ' + what)
        report.equal('outcome by dates %s' % what, [sent.document_id], _ids(inside))
    past = _list(session, report, 'outcome', {
        'end_date': before.strftime('%Y-%m-%d %H:%M:%S'), 'request_id': sent.request_id}, 0, 10, 'a past end_date')
    report.equal('outcome by a past end_date', ([], 0), (_ids(past), past.get('total')))
    processed = _list(session, report, 'outcome', {
        'processed_date_from': before.strftime('%Y-%m-%d %H:%M:%S'),
        'processed_date_to': after.strftime('%Y-%m-%d %H:%M:%S'), 'request_id': sent.request_id},
        0, 10, 'processed_date')
    report.equal('outcome by processed_date', [sent.document_id], _ids(processed))


def income(session, report, settings):
    every = _list(session, report, 'income', {'doc_type': 601}, 0, 100)
    ids, records = _ids(every), every.get('documents', [])
    report.true('income has notifications', len(ids) >= PAGE + 1, len(ids))
    report.true('sys_id of an incoming document is the receiver', all(
        record.get('sys_id') == settings['system_id'] for record in records), records[:1])
    report.true('sender_sys_id of an incoming document is not the receiver', all(
        record.get('sender_sys_id') not in (None, settings['system_id']) for record in records), records[:1])
    _pages(session, report, 'income', ids, {'doc_type': 601})
    new = _list(session, report, 'income', {'only_new': True, 'doc_type': 601}, 0, 100, 'only_new')
    report.true('income by only_new', len(_ids(new)) > 0 and all(
        record.get('is_new') is True for record in new.get('documents', [])), new.get('documents', [])[:1])
    sender = records[0]['sender'] if records else ''
    by_place = _list(session, report, 'income', {'sender_id': sender}, 0, 100, 'sender_id')
    report.true('income by sender_id', len(ids) > 0 and ids[0] in _ids(by_place), _ids(by_place))
    _mark_read(session, report, ids)


def _mark_read(session, report, ids):
    body = report.shape('mark_read', shapes.MARKED, session.post(
        'mark_read', 'documents/income/mark_read', {'document_ids': ids[:1]}))
    report.equal('marked documents', ids[:1], body.get('marked_document_ids'))
    new = _list(session, report, 'income', {'only_new': True}, 0, 100, 'only_new after mark_read')
    report.true('a document that was marked is not new', ids[:1] and ids[0] not in _ids(new), ids[:1])


def showcase(session, report):
    """Key-set paging: no next_page_key says that the list ends."""
    seen, key = [], None
    for _ in range(20):
        body = {'filter': {'doc_type': 431}, 'count': 1}
        if key:
            body['next_page_key'] = key
        page = _showcase_page(session, report, body)
        seen += _ids(page)
        key = page.get('next_page_key')
        if not key:
            break
    report.true('showcase pages do not repeat', len(seen) == len(set(seen)) and seen, seen)


def _showcase_page(session, report, body):
    answer = session.post('showcase outcome', 'documents/showcase/outcome', body)
    if 'next_page_key' in body:
        return answer.json() or {}
    return report.shape('showcase outcome', shapes.SHOWCASE, answer)


def _list(session, report, which, wanted, start, count, by=None):
    answer = session.post(which, 'documents/' + which, {'filter': wanted, 'start_from': start, 'count': count})
    what = 'shape of %s' % which if by is None else 'shape of %s by %s' % (which, by)
    return report.shape(what, shapes.OUTCOME if which == 'outcome' else shapes.INCOME, answer)


def _ids(body):
    return [record.get('document_id') for record in body.get('documents', [])]


def _pages(session, report, which, ids, wanted=None):
    """Two pages follow each other without an overlap, and say the same total."""
    first = _list(session, report, which, wanted or {}, 0, PAGE, 'the first page')
    second = _list(session, report, which, wanted or {}, PAGE, PAGE, 'the second page')
    report.equal('%s by pages' % which, ids[:2 * PAGE], _ids(first) + _ids(second))
    report.equal('total of %s by pages' % which, [len(ids)] * 2, [first.get('total'), second.get('total')])
