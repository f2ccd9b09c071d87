"""The shapes of the registry's answers as docs/public-facts.md gives them, and how a value is held against one.

A shape is a class (`int`, `str`, `bool`), a Text, a OneOf, a list of one shape, or a dict of fields. A field whose name
ends in `?` may be absent or null. Fields that the facts do not name are passed over, as typed clients do.
"""
import re


class Text:
    """A text of a certain form."""

    def __init__(self, what, pattern):
        self.what = what
        self.pattern = re.compile(pattern)

    def fits(self, value):
        return isinstance(value, str) and self.pattern.fullmatch(value) is not None


class OneOf:
    """One of a few values."""

    def __init__(self, *values):
        self.what = 'one of ' + ', '.join(str(value) for value in values)
        self.values = values

    def fits(self, value):
        return any(type(value) is type(known) and value == known for known in self.values)


class Either:
    """What is of one of several shapes."""

    def __init__(self, what, *shapes):
        self.what = what
        self.shapes = shapes

    def fits(self, value):
        return any(not mismatches(shape, value) for shape in self.shapes)


def mismatches(shape, value, path='answer'):
    """What about the value is not of the shape, as texts `expected ..., got ...`."""
    if isinstance(shape, dict):
        return _object(shape, value, path)
    if isinstance(shape, list):
        if not isinstance(value, list):
            return ['expected %s to be a list, got %r' % (path, value)]
        found = []
        for place, entry in enumerate(value):
            found += mismatches(shape[0], entry, '%s[%d]' % (path, place))
        return found
    if isinstance(shape, type):
        fits, what = isinstance(value, shape) and (shape is bool or not isinstance(value, bool)), shape.__name__
    else:
        fits, what = shape.fits(value), shape.what
    return [] if fits else ['expected %s to be %s, got %r' % (path, what, value)]


def _object(shape, value, path):
    if not isinstance(value, dict):
        return ['expected %s to be an object, got %r' % (path, value)]
    found = []
    for field, inner in shape.items():
        name = field.rstrip('?')
        if field.endswith('?') and value.get(name) is None:
            continue
        if name not in value:
            found.append('expected %s.%s, got nothing' % (path, name))
        else:
            found += mismatches(inner, value[name], '%s.%s' % (path, name))
    return found


GUID = Text('GUID', r'[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}')
PLACE = Text('14 digits', r'\d{14}')
SUBJECT = Text('place or system id', r'\d{14}|' + GUID.pattern.pattern)
SGTIN = Text('SGTIN', r'\d{14}[a-zA-Z0-9]{13}')
SSCC = Text('18 digits', r'\d{18}')
GTIN = Text('14 digits', r'\d{14}')
INN = Text('10 or 12 digits', r'\d{10}|\d{12}')
LOCAL_MOMENT = Text('moment without zone', r'\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?')
MOMENT = Text('moment', r'\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)?')
DAY = Text('day', r'\d{4}-\d\d-\d\d([ T]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)?)?|\d\d\.\d\d\.\d{4}')
TEXT = Text('text that is not empty', r'(?s).+')

FINAL_STATUSES = ('PROCESSED', 'PROCESSED_DOCUMENT', 'FAILED_RESULT_READY', 'FAILED')
STATUS = OneOf('UPLOADING_DOCUMENT', 'PROCESSING_DOCUMENT', 'CORE_PROCESSING_DOCUMENT', 'CORE_PROCESSED_DOCUMENT',
               *FINAL_STATUSES)
RESULT = OneOf('PROCESSING', 'ACCEPTED', 'PARTIAL', 'REJECTED', 'TECH_ERROR')

CODE = {'code': GUID}
TOKEN = {'token': GUID, 'life_time': int}
SENT = {'document_id': GUID}
LARGE = {'document_id': GUID, 'link': TEXT}
FINISHED = {'request_id': GUID}
LINK = {'link': Text('absolute address', r'https?://\S+')}
SIZE = {'doc_size': int}
ERROR = {'error_description': TEXT}

# What is not readable yet, or never was a document, has neither: the type is 0 then, and the version empty.
DOCUMENT = {
    'request_id': TEXT, 'document_id': GUID, 'date': LOCAL_MOMENT, 'processed_date?': LOCAL_MOMENT, 'sender': SUBJECT,
    'receiver?': SUBJECT, 'sys_id': GUID, 'doc_type?': int, 'doc_status': STATUS,
    'file_uploadtype': OneOf(0, 1, 2, 3, 4), 'version?': Text('version', r'(\d+\.\d+)?'), 'doc_num?': TEXT}
OUTGOING = dict(DOCUMENT, **{'device_id?': TEXT, 'skzkm_origin_msg_id?': TEXT, 'skzkm_report_id?': TEXT,
                             'processing_document_status?': RESULT})
INCOMING = dict(DOCUMENT, **{'sender_sys_id': GUID, 'is_new?': bool})
DOCUMENTS = {'documents': [DOCUMENT], 'total': int}
OUTCOME = {'documents': [OUTGOING], 'total': int}
INCOME = {'documents': [INCOMING], 'total': int}
SHOWCASE = {'documents': [OUTGOING], 'total': int, 'next_page_key?': TEXT}
MARKED = {'marked_document_ids': [GUID], 'total': int}

PACK_STATUS = OneOf(*'''
    emission emitted emitted_paid marked marked_not_paid lp_sampled transfered_to_owner transferred_for_release
    waiting_for_release released_contract released_foreign released_foreign_not_paid transferred_to_customs
    transferred_to_importer shipped arrived declared declared_warehouse moved_to_warehouse transfer_to_production
    awaiting_return_confirmation in_circulation in_realization change_owner change_owner_state_gov waiting_confirmation
    waiting_change_property confirm_return_paused transferred_to_agent in_arbitration paused_circulation
    moved_to_unregistered moved_for_disposal expired in_partial_sale in_partial_discount_prescription_sale
    in_partial_medical_use in_partial_dispensing_by_document ofd_retail_error ofd_discount_prescription_error
    discount_prescription_error med_care_error in_sale in_discount_prescription_sale in_medical_use
    dispensing_by_document disposed out_of_circulation experiment_outbound relabeled reexported moved_to_eeu eliminated
    expired_not_paid in_partial_ooc ooc_part_sale ooc_part_prescription_sale ooc_part_medical_use
    ooc_part_dispensing_by_doc'''.split())
PACK = {
    'id': TEXT, 'inn': INN, 'gtin': GTIN, 'sgtin': SGTIN, 'status': PACK_STATUS, 'status_date': MOMENT, 'batch': TEXT,
    'owner': TEXT, 'emission_type': OneOf(1, 2, 3, 4), 'release_date': MOMENT, 'emission_operation_date': MOMENT,
    'federal_subject_code?': TEXT, 'federal_subject_name': TEXT, 'expiration_date?': DAY, 'prod_name?': TEXT,
    'sell_name?': TEXT, 'full_prod_name?': TEXT, 'reg_holder?': TEXT, 'pack1_desc?': TEXT, 'pack3_id?': SSCC,
    'last_tracing_op_date?': MOMENT, 'source_type?': int, 'drug_code?': TEXT, 'prod_form_name?': TEXT,
    'prod_d_name?': TEXT, 'billing_state?': OneOf(0, 1, 2, 3, 4), 'vzn_drug': bool, 'gnvlp': bool, 'halt_id?': TEXT,
    'sys_id?': GUID, 'withdrawal_type?': int, 'via_device?': bool}
EXTENDED_PACK = dict(PACK, **{'packing_inn?': INN, 'packing_name?': TEXT, 'packing_id?': TEXT, 'control_inn?': INN,
                              'control_name?': TEXT, 'control_id?': TEXT})
PUBLIC_PACK = {
    'sgtin': SGTIN, 'batch': TEXT, 'expiration_date?': DAY, 'prod_name?': TEXT, 'sell_name?': TEXT,
    'prod_form_name?': TEXT, 'prod_d_name?': TEXT, 'reg_date': DAY, 'reg_number': TEXT, 'reg_holder?': TEXT,
    'drug_code?': TEXT, 'status?': PACK_STATUS, 'emission_type?': int, 'branch_id?': PLACE, 'sscc?': SSCC}
PRODUCT = {
    'gtin': GTIN, 'reg_number': TEXT, 'reg_date': DAY, 'reg_end_date?': DAY, 'prod_name': TEXT, 'prod_sell_name': TEXT,
    'prod_desc?': TEXT, 'prod_d_name?': TEXT, 'prod_pack_1_name?': TEXT, 'prod_form_name?': TEXT, 'gnvlp?': bool,
    'reg_holder?': TEXT, 'reg_country?': TEXT, 'cost_limit?': Either('number', int, float), 'drug_code?': TEXT,
    'glf_name?': TEXT}
PACKS = {'entries': [EXTENDED_PACK], 'total': int}
FAILED_PACK = {'sgtin': SGTIN, 'error_code': OneOf(2, 4), 'error_desc': TEXT}
PACKS_BY_LIST = {'total': int, 'failed': int, 'entries': [PACK], 'failed_entries': [FAILED_PACK]}
PUBLIC_PACKS = {'total': int, 'failed': int, 'entries': [PUBLIC_PACK], 'failed_entries': [SGTIN]}
ONE_PACK = {'sgtin_info': PACK, 'gtin_info': PRODUCT}
PACK_HISTORY = {'entries': [dict(DOCUMENT, **{'sscc?': SSCC})], 'total': int}
HELD_PACKS = {'entries': [PACK], 'total': int}
DECISION = {
    'halt_id': TEXT, 'halt_type': OneOf(0, 1), 'halt_doc_num?': TEXT, 'halt_doc_date?': DAY, 'halt_date?': DAY,
    'op_date?': MOMENT, 'gtin?': GTIN, 'batch?': TEXT, 'sgtin_count?': int, 'inn?': INN, 'org_name?': TEXT}
DECISION_PACKS = {'entries': [{'sgtin': SGTIN, 'gtin?': GTIN, 'batch?': TEXT}], 'total': int}
DECISIONS = {'entries': [DECISION], 'total': int}

BOX = {'sscc': SSCC, 'release_date': MOMENT, 'system_subj_id': TEXT}
HIERARCHY = {'up': [BOX], 'down': [BOX]}
MISSED_HIERARCHY = {'up': [BOX], 'down': [BOX], 'error_code': OneOf(2, 4), 'error_desc': TEXT}
CONTAINED = {'entries': [PACK], 'total': int}
LEAF = {
    'sgtin': SGTIN, 'sscc': SSCC, 'gtin': GTIN, 'status?': PACK_STATUS, 'internal_state?': PACK_STATUS, 'batch?': TEXT,
    'series_number?': TEXT, 'expiration_date': DAY,
    'pause_decision_info?': {'id': TEXT, 'number': TEXT, 'date': DAY, 'halt_date?': DAY}}


# A unit of a full hierarchy. Its `childs` mix units and packs; a pack is what has an sgtin.
NODE = {'sscc': SSCC, 'packing_date': MOMENT, 'owner_id?': TEXT, 'owner_organization_name?': TEXT}
NODE['childs'] = [Either('pack or unit', LEAF, NODE)]
FULL_HIERARCHY = {'up': NODE, 'down': NODE}
FULL_HIERARCHIES = [FULL_HIERARCHY]

PARTNER = {'ORG_NAME': TEXT, 'KPP?': TEXT, 'OGRN?': TEXT, 'FIRST_NAME?': TEXT,
           'op_date': {'$date': Either('moment', MOMENT, int)}}
PARTNERS = {'filtered_records': [PARTNER], 'filtered_records_count': int}
ADDRESS = {'aoguid': str, 'houseguid': str, 'address_description': TEXT}
BRANCH = {
    'id': PLACE, 'federal_subject_code': TEXT, 'federal_subject_name': TEXT, 'org_name': TEXT, 'work_list': [TEXT],
    'address': ADDRESS, 'status': OneOf(0, 1, 2), 'registration_date': MOMENT, 'suspension_date?': MOMENT}
BRANCHES = {'entries': [BRANCH], 'total': int}
ONE_BRANCH = {'branch_id': PLACE, 'address': ADDRESS}
PRODUCTS = {'entries': [PRODUCT], 'total': int}
STORAGE = dict({'storage_id': PLACE, 'gtin': GTIN}, **{name: int for name in '''opening_balance total_income
    total_outcome retail_sale discount_sale medical_use wholesale other production purchase_in_russia import
    ending_balance'''.split()})
VIRTUAL_STORAGE = {'entries': [STORAGE], 'total': int}
USER = {
    'user_id': TEXT, 'first_name': str, 'last_name': str, 'middle_name?': str, 'position?': str, 'phone?': str,
    'email?': str, 'login?': str, 'status': OneOf('ACTIVE', 'BLOCKED', 'DELETED'), 'status_change_reason?': TEXT,
    'last_login_time?': MOMENT, 'is_admin': bool}
USERS = {'users': [USER], 'total': int}
CURRENT_USER = {'user': USER}
VALIDATED = {'entries': [{'sgtin': SGTIN, 'valid': bool, 'found': bool}]}
TRUSTED = {'code': int}
TASK = {'task_id': TEXT}
TASK_STATUS = {'current_status': OneOf('PREPARATION', 'COMPLETED', 'FAILED'), 'error_message?': TEXT}
