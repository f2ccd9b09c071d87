"""Runs the client against a registry and prints one line for each check. Ends with status 1 when one failed.

    python3 run.py SETTINGS.json

`settings` name the registry, a user who signs, a user with a password, and the goods and places that the checks use.
"""
import json
import sys
from concurrent.futures import ThreadPoolExecutor

import documents
import exchange
import lists
import registries
import signing_in
from registry import Session, Signer
from report import Report

# Checks that fail because the registry in reach does not do yet what the facts say.
KNOWN_GAPS = frozenset((
    'showcase outcome',
    'showcase pages do not repeat',
))

NUMBER_WITH_BACKSLASH = 'PY\\415'
PROCESSED = ('PROCESSED', 'PROCESSED_DOCUMENT')


class Run:
    """The steps, in an order in which the waits of the documents are filled with other calls."""

    def __init__(self, settings, report):
        self.settings = settings
        self.report = report
        resident, other = settings['resident'], settings['non_resident']
        self.resident = Session(settings['url'], resident, Signer(resident['key_file'], resident['certificate_file']))
        self.other = Session(settings['url'], other)

    def steps(self):
        return [self.sign_in, self.send, self.upload, self.query, self.follow, self.list, self.fetch, self.query_units,
                self.sign_out, self.intervals]

    def run(self):
        for step in self.steps():
            try:
                step()
            except Exception as error:  # A step that cannot go on is a failed check, and the others still run.
                self.report.check('step %s' % step.__name__, 'expected its end, got %r' % error)

    def sign_in(self):
        signing_in.sign_in(self.resident, self.report, 'resident')
        signing_in.sign_in(self.other, self.report, 'non-resident')
        self.most_bytes = signing_in.too_soon(self.resident, self.report)

    def send(self):
        said, place = self.settings, self.settings['place']
        self.moved = self.send_signed('a 431', documents.move_place(place, said['other_place'], said['packs'][:1]),
                          bulk_processing='false', doc_type=431)
        self.shipped = self.send_signed('a 415', documents.move_order(place, said['buyer_place'], [
            said['packs'][1], said['unknown_pack']], NUMBER_WITH_BACKSLASH), bulk_processing=False)
        content = [('sscc', said['box'])] + [('sgtin', pack) for pack in said['loose_packs']]
        self.packed = self.send_signed('a 911', documents.unit_pack(place, said['outer_box'], content))
        self.asked = self.send_signed('a 220', documents.query_hierarchy(place, said['box']))
        self.garbage = self.send_signed('no XML at all', b'this is no XML')
        self.unsigned = exchange.send(self.other, self.report, 'a 431 without a signature', documents.move_place(
            place, said['other_place'], said['packs'][2:3], 'PY-431-2'))

    def send_signed(self, name, xml, **more):
        return exchange.send(self.resident, self.report, name, xml, **more)

    def upload(self):
        large = documents.move_place(self.settings['place'], self.settings['other_place'], [
            '%s%s%06d' % (self.settings['gtin'], self.settings['large_prefix'], number)
            for number in range(1, self.settings['large_count'] + 1)], 'PY-LARGE')
        self.large = exchange.upload_large(self.resident, self.report, large, self.most_bytes)
        exchange.cancel(self.resident, self.report, documents.move_place(
            self.settings['place'], self.settings['other_place'], self.settings['packs'][:1]))

    def query(self):
        session, report, settings = self.other, self.report, self.settings
        registries.empty_list(session, report)
        registries.public_packs(session, report, settings)
        registries.partners(session, report)
        registries.places(session, report, settings)
        registries.products(session, report, settings)
        registries.users(session, report)
        registries.exports(session, report)
        registries.unknown_units(session, report, settings)
        registries.validate(session, report, settings)
        registries.check_units(session, report, settings)

    def follow(self):
        session, report = self.resident, self.report
        for sent in (self.moved, self.shipped, self.packed, self.asked, self.large):
            exchange.follow(session, report, sent, PROCESSED)
        exchange.follow(session, report, self.garbage, ('FAILED',))
        exchange.follow(self.other, report, self.unsigned, PROCESSED)
        exchange.metadata(report, self.moved, self.settings, 431)
        self.report.equal('doc_num with a backslash', NUMBER_WITH_BACKSLASH, self.shipped.record.get('doc_num'))
        exchange.by_request_id(session, report, self.moved)
        exchange.unknown_documents(session, report)

    def list(self):
        with ThreadPoolExecutor(max_workers=1) as second_user:
            rest = second_user.submit(self.list_by_the_other)
            lists.outcome(self.resident, self.report, [self.moved, self.shipped, self.packed, self.large])
            lists.showcase(self.resident, self.report)
            rest.result()

    def list_by_the_other(self):
        """The calls are counted by user, so the lists of the other user cost no time of the first."""
        lists.income(self.other, self.report, self.settings)
        lists.dates(self.other, self.report, self.moved)

    def fetch(self):
        session, report = self.resident, self.report
        for sent, operation in ((self.moved, '431'), (self.packed, '911'), (self.large, '431')):
            report.equal('objects named wrong in %s' % sent.name, [], exchange.fetch_receipt(
                session, report, sent, 'Accepted', operation))
        wrong = exchange.fetch_receipt(session, report, self.shipped, 'Partial', '415')
        report.equal('objects named wrong in a 415', [self.settings['unknown_pack']], wrong)
        exchange.fetch_hierarchy(session, report, self.asked, self.settings['box'])
        exchange.fetch_document(session, report, self.moved)

    def query_units(self):
        session, report, settings = self.resident, self.report, self.settings
        registries.packs(session, report, settings)
        registries.packs_by_list(session, report, settings)
        registries.one_pack(session, report, settings)
        registries.held_packs(session, report, settings)
        registries.units(session, report, settings)
        registries.full_hierarchies(self.other, report, settings)

    def sign_out(self):
        signing_in.refusals(self.resident, self.report)
        signing_in.sign_out(self.resident, self.report, 'resident')
        signing_in.sign_out(self.other, self.report, 'non-resident')

    def intervals(self):
        self.report.equal('calls refused although they kept the interval of the facts', [],
                          self.resident.refused + self.other.refused)


def main(settings):
    report = Report(KNOWN_GAPS)
    Run(settings, report).run()
    return 1 if report.failures else 0


if __name__ == '__main__':
    with open(sys.argv[1], encoding='utf-8') as file:
        sys.exit(main(json.load(file)))
