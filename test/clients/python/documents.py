"""The XML that the client writes, and the XML that it reads (public-facts 2)."""
import datetime
import uuid
import xml.etree.ElementTree as ET

MOSCOW = datetime.timezone(datetime.timedelta(hours=3))
VERSION = '1.38'


def moscow_now():
    return datetime.datetime.now(MOSCOW)


def moment(text):
    """A moment of an answer: with a space or with T, in Moscow time."""
    return datetime.datetime.strptime(text[:19].replace('T', ' '), '%Y-%m-%d %H:%M:%S').replace(tzinfo=MOSCOW)


def new_id():
    return str(uuid.uuid4())


def _document(action_id, element, fields, details=None):
    """A document whose `fields` stand in the order given. Nested fields are tuples of name and list."""
    root = ET.Element('documents', {'version': VERSION, 'session_ui': new_id()})
    action = ET.SubElement(root, element, {'action_id': str(action_id)})
    _fill(action, fields + ([details] if details else []))
    return ET.tostring(root, encoding='unicode').encode('utf-8')


def _fill(parent, fields):
    for name, value in fields:
        child = ET.SubElement(parent, name)
        if isinstance(value, list):
            _fill(child, value)
        else:
            child.text = value


def _paper(number):
    now = moscow_now()
    return [('operation_date', now.isoformat(timespec='seconds')), ('doc_num', number),
            ('doc_date', now.strftime('%d.%m.%Y'))]


def move_place(place, other_place, packs, number='PY-431'):
    return _document(431, 'move_place', [('subject_id', place), ('receiver_id', other_place)] + _paper(number),
                     ('order_details', [('sgtin', pack) for pack in packs]))


def move_order(place, buyer, packs, number):
    return _document(415, 'move_order', [('subject_id', place), ('receiver_id', buyer)] + _paper(number) + [
        ('turnover_type', '1'), ('source', '1'), ('contract_type', '1')], (
            'order_details', [('union', [('sgtin', pack), ('cost', '110.00'), ('vat_value', '10.00')])
                              for pack in packs]))


def unit_pack(place, sscc, content):
    return _document(911, 'unit_pack', [
        ('subject_id', place), ('sscc', sscc), ('operation_date', moscow_now().isoformat(timespec='seconds'))],
                     ('content', content))


def query_hierarchy(place, sscc):
    return _document(220, 'query_hierarchy_info', [('subject_id', place), ('sscc', sscc)])


# Children in order: name, least, most (None: any), and the same for its own children or None for a text.
ERROR_ROWS = [('error_code', 1, 1, None), ('error_desc', 1, 1, None), ('object_id', 0, 1, None)]
WARNINGS = ('operation_warnings', 0, None, [('operation_warning', 1, 1, None)])
RECEIPT = [('operation', 1, 1, None), ('operation_id', 1, 1, None), ('operation_result', 1, 1, None),
           ('operation_comment', 0, 1, None), WARNINGS, ('errors', 0, None, ERROR_ROWS)]
DECISION = ('pause_decision_info', 0, 1, [('id', 1, 1, None), ('number', 1, 1, None), ('date', 1, 1, None)])
SGTIN_INFO = ('sgtin_info', 0, None, [
    ('sgtin', 1, 1, None), ('sscc', 0, 1, None), ('status', 1, 1, None), ('gtin', 1, 1, None),
    ('series_number', 1, 1, None), ('expiration_date', 1, 1, None), DECISION])
UNIT = [('sscc', 1, 1, None), ('packing_date', 1, 1, None)]
CHILDS = ('childs', 0, None, [SGTIN_INFO])
UNIT.append(CHILDS)
CHILDS[3].append(('sscc_info', 0, None, UNIT))
HIERARCHY = [('sscc_up', 0, 1, [('sscc_info', 1, 1, UNIT)]), ('sscc_down', 0, 1, [('sscc_info', 1, 1, UNIT)]), WARNINGS]


def out_of_order(element, children):
    """What about the children of an element is not as the schema orders them."""
    found, rest = [], list(element)
    for name, least, most, inner in children:
        taken = 0
        while rest and rest[0].tag == name and (most is None or taken < most):
            child = rest.pop(0)
            taken += 1
            found += out_of_order(child, inner) if inner else ([] if (child.text or '').strip() else [
                'expected a text in %s, got nothing' % name])
        if taken < least:
            found.append('expected %s in %s, got %s' % (name, element.tag, rest[0].tag if rest else 'its end'))
    return found + ['expected the end of %s, got %s' % (element.tag, child.tag) for child in rest[:1]]


def receipt(xml):
    """The action of a receipt: element with its attributes. None when it is no document."""
    try:
        root = ET.fromstring(xml)
    except ET.ParseError:
        return None
    return root[0] if root.tag == 'documents' and len(root) == 1 and root.get('version') else None
