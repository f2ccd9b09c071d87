"""The registries: packs, units, places, partners, products."""
import datetime

import documents
import shapes


def _post(session, report, what, where, **body):
    shape, name, path = where
    return report.shape(what, shape, session.post(name, path, body))


def _page(session, report, what, where, wanted, count=10):
    return _post(session, report, what, where, filter=wanted, start_from=0, count=count)


def packs(session, report, settings):
    where = (shapes.PACKS, 'sgtin filter', 'reestr/sgtin/filter')
    pack = settings['packs'][0]
    found = _page(session, report, 'packs by sgtin', where, {'sgtin': pack})
    report.equal('pack by sgtin', [pack], [entry.get('sgtin') for entry in found.get('entries', [])])
    found = _page(session, report, 'packs by status and gtin', where, {
        'status': ['in_circulation'], 'gtin': settings['gtin']}, 2)
    report.true('packs by status and gtin: one page of many',
                len(found.get('entries', [])) == 2 < found.get('total', 0), found.get('total'))
    now = datetime.datetime.now(datetime.timezone.utc)
    for what, form in (('Z', '%Y-%m-%dT%H:%M:%SZ'), ('a space', '%Y-%m-%d %H:%M:%S'),
                       ('seven fractional digits', '%Y-%m-%dT%H:%M:%S.1234567Z')):
        found = _page(session, report, 'packs by dates with ' + what, where, {
            'sgtin': pack, 'last_tracing_op_date_to': (now + datetime.timedelta(hours=4)).strftime(form)})
        report.equal('pack by dates with ' + what, 1, found.get('total'))
    past = _page(session, report, 'packs by a past date', where, {
        'sgtin': pack, 'release_date_to': '2001-01-01T00:00:00Z'})
    report.equal('no pack by a past date', 0, past.get('total'))


def packs_by_list(session, report, settings):
    """Once: the interval is 10 s."""
    asked = [settings['packs'][0], settings['unknown_pack'], settings['foreign_pack']]
    body = _post(session, report, 'packs by list', (
        shapes.PACKS_BY_LIST, 'sgtins by list', 'reestr/sgtin/sgtins-by-list'), filter={'sgtins': asked})
    report.equal('reasons of the list', {settings['unknown_pack']: 2, settings['foreign_pack']: 4}, {
        entry.get('sgtin'): entry.get('error_code') for entry in body.get('failed_entries', [])})
    report.equal('total and failed of the list', (3, 2), (body.get('total'), body.get('failed')))


def empty_list(session, report):
    report.status('empty list of packs', 400, session.post(
        'sgtins by list', 'reestr/sgtin/sgtins-by-list', {'filter': {'sgtins': []}}))


def public_packs(session, report, settings):
    asked = [settings['packs'][0], settings['foreign_pack'], settings['unknown_pack']]
    body = _post(session, report, 'public packs by list', (
        shapes.PUBLIC_PACKS, 'public sgtins by list', 'reestr/sgtin/public/sgtins-by-list'), filter={'sgtins': asked})
    report.equal('what the public list misses', [settings['unknown_pack']], body.get('failed_entries'))


def one_pack(session, report, settings):
    pack = settings['packs'][0]
    body = report.shape('one pack', shapes.ONE_PACK, session.get('sgtin', 'reestr/sgtin/' + pack))
    report.equal('sgtin of one pack', pack, (body.get('sgtin_info') or {}).get('sgtin'))
    body = report.shape('history of a pack', shapes.PACK_HISTORY, session.get(
        'sgtin documents', 'reestr/sgtin/documents?sgtin=' + pack))
    types = [entry.get('doc_type') for entry in body.get('entries', [])]
    report.true('history of a pack shows its move', 431 in types, types)


def held_packs(session, report, settings):
    """What the regulator has suspended, the decisions, and the packs of one decision."""
    held = settings['held_pack']
    found = _page(session, report, 'packs on hold', (
        shapes.HELD_PACKS, 'on hold', 'reestr/sgtin/on_hold'), {'sgtin': held})
    report.equal('pack on hold', [(held, 'paused_circulation')], [
        (entry.get('sgtin'), entry.get('status')) for entry in found.get('entries', [])])
    path = 'reestr/paused-circulation-decisions/'
    found = _page(session, report, 'suspension decisions', (
        shapes.DECISIONS, 'decisions', path + 'filter'), {'halt_type': 0})
    report.true('suspension decisions are found', found.get('total'), found)
    decision = (found.get('entries') or [{}])[0].get('halt_id')
    found = _post(session, report, 'packs of a decision', (
        shapes.DECISION_PACKS, 'packs of a decision', '%s%s/sgtins/filter' % (path, decision)), start_from=0, count=10)
    report.equal('pack of a decision', [held], [entry.get('sgtin') for entry in found.get('entries', [])])


def validate(session, report, settings):
    body = _post(session, report, 'validate', (shapes.VALIDATED, 'validate', 'sgtin/validate'),
                 sgtins=[settings['packs'][0], settings['unknown_pack']])
    report.equal('what validate found', [True, False], [entry.get('found') for entry in body.get('entries', [])])


def units(session, report, settings):
    """Once each: the intervals are 20, 30 and 5 s. The outer unit holds the inner one and a pack."""
    inner, outer = settings['box'], settings['outer_box']
    body = report.shape('hierarchy', shapes.HIERARCHY, session.get('hierarchy', 'reestr/sscc/%s/hierarchy' % inner))
    ends = [unit.get('sscc') for unit in body.get('up', [])]
    report.equal('up begins with the asked unit and ends with the outermost', [inner, outer], ends)
    report.equal('down begins with the asked unit', [inner], [unit.get('sscc') for unit in body.get('down', [])][:1])
    body = report.shape('full hierarchy', shapes.FULL_HIERARCHY, session.get(
        'full hierarchy', 'reestr/sscc/%s/full-hierarchy' % outer))
    childs = (body.get('down') or {}).get('childs', [])
    report.equal('childs of the outer unit mix a unit and a pack', [False, True], sorted(
        'sgtin' in child for child in childs))
    body = _post(session, report, 'packs of a unit', (
        shapes.CONTAINED, 'sgtins of a container', 'reestr/sscc/%s/sgtins' % outer), start_from=0, count=10)
    found = [entry.get('sgtin') for entry in body.get('entries', [])]
    report.equal('packs directly in the outer unit', settings['loose_packs'], found)


def unknown_units(session, report, settings):
    missed = report.shape('hierarchy of an unknown unit', shapes.MISSED_HIERARCHY, session.get(
        'hierarchy', 'reestr/sscc/%s/hierarchy' % settings['unknown_box']))
    report.equal('hierarchy of an unknown unit is empty', ([], [], 2), (
        missed.get('up'), missed.get('down'), missed.get('error_code')))


def full_hierarchies(session, report, settings):
    address = 'reestr/sscc/full-hierarchy?sscc=%s&sscc=%s' % (settings['box'], settings['outer_box'])
    answer = session.get('full hierarchy of several', address)
    body = report.shape('full hierarchy of two', shapes.FULL_HIERARCHIES, answer)
    report.equal('number of full hierarchies', 2, len(body))


def check_units(session, report, settings):
    asked = [settings['box'], settings['unknown_box']]
    answer = session.post('sscc check', 'reestr/sscc/sscc_check', {'sscc': asked})
    report.status('sscc_check', 200, answer)


def places(session, report, settings):
    where = (shapes.BRANCHES, 'branches', 'reestr/branches/filter')
    _page(session, report, 'branches', where, {'status': 1})
    found = _page(session, report, 'branches by branch_id', where, {'branch_id': settings['place']})
    report.equal('branch by branch_id', [settings['place']], [entry.get('id') for entry in found.get('entries', [])])
    _page(session, report, 'warehouses', (shapes.BRANCHES, 'warehouses', 'reestr/warehouses/filter'), {})
    report.shape('one branch', shapes.ONE_BRANCH, session.get('branch', 'reestr/branches/' + settings['place']))
    _page(session, report, 'public branches', (
        shapes.BRANCHES, 'public branches', 'reestr/branches/public/filter'), {'branch_id': settings['buyer_place']})


def partners(session, report):
    body = _page(session, report, 'partners', (
        shapes.PARTNERS, 'partners', 'reestr_partners/filter'), {'reg_entity_type': 1})
    report.true('partners are found', (body.get('filtered_records_count') or 0) > 0, body)
    _page(session, report, 'trusted partners', (dict, 'trusted partners', 'reestr/trusted_partners/filter'), {})


def products(session, report, settings):
    _page(session, report, 'own products', (shapes.PRODUCTS, 'own products', 'reestr/med_products/current'), {})
    found = _page(session, report, 'public products', (
        shapes.PRODUCTS, 'public products', 'reestr/med_products/public/filter'), {'gtin': settings['gtin']})
    report.equal('product by gtin', [settings['gtin']], [entry.get('gtin') for entry in found.get('entries', [])])
    report.shape('one public product', shapes.PRODUCT, session.get(
        'public product', 'reestr/med_products/public/' + settings['gtin']))
    found = _page(session, report, 'virtual storage', (
        shapes.VIRTUAL_STORAGE, 'virtual storage', 'reestr/virtual-storage/filter'), {})
    report.true('virtual storage has rows', found.get('entries'), found)
    report.true('virtual storage balances', all(
        row.get('opening_balance', 0) + row.get('total_income', 0) - row.get('total_outcome', 0)
        == row.get('ending_balance') for row in found.get('entries', [])), found.get('entries', [])[:1])


def users(session, report):
    _page(session, report, 'users', (shapes.USERS, 'users', 'users/filter'), {'statuses': ['ACTIVE']})
    report.shape('current user', shapes.CURRENT_USER, session.get('current user', 'users/current'))


def exports(session, report):
    task = _post(session, report, 'order of an export', (shapes.TASK, 'export', 'data/export/tasks'),
                 report_id='GENERAL_REPORT_ON_REMAINING_ITEMS')
    report.shape('status of an export', shapes.TASK_STATUS, session.get(
        'export status', 'data/export/tasks/%s' % task.get('task_id', documents.new_id())))
