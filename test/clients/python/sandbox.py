"""Puts the goods and the users that the checks use into a running sandbox by its control port, then runs the client.

    python3 test/clients/python/sandbox.py REGISTRY_URL CONTROL_URL

This file knows the sandbox of this project. The client does not: it gets settings, as it would for any registry.
"""
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
import uuid

import run

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', '..', 'apps', 'sandbox', 'data')
CLIENT = {'client_id': '5e2d7c10-0000-4000-8000-000000000001', 'client_secret': 'sandbox-secret-main'}
GTIN = '04600000000015'
LARGE_PREFIX = 'PYLARGE'
LARGE_COUNT = 24000
PLACE, OTHER_PLACE, SUPPLIER, BUYER = '00000000100101', '00000000100102', '00000000200101', '00000000300101'
# A unit's number is never used again, so each run has numbers of its own.
BOX, OUTER_BOX, UNKNOWN_BOX = ['04600000%d%09d' % (kind, time.time() % 10**9) for kind in range(3)]
PACKS = [GTIN + 'PYCLIENTPACK%d' % number for number in range(1, 4)]
HELD = GTIN + 'PYCLIENTONHLD'
LOOSE, FOREIGN, UNKNOWN = GTIN + 'PYCLIENTLOOSE', GTIN + 'PYCLIENTTHEIR', GTIN + 'PYCLIENTNEVER'


def control(base, path, body):
    request = urllib.request.Request(base.rstrip('/') + path, data=json.dumps(body).encode('utf-8'), method='POST')
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.loads(answer.read().decode('utf-8'))


def plant(base):
    own = {'owner': 'own', 'place': PLACE, 'series': 'PY-1'}
    control(base, '/plant', {
        'packs': [dict(own, sgtin=pack) for pack in PACKS + [LOOSE, HELD]] + [
            {'sgtin': FOREIGN, 'owner': 'supplier-a', 'place': SUPPLIER, 'series': 'PY-2'}],
        'ranges': [dict(own, gtin=GTIN, prefix='PYBOX', **{'from': 1, 'count': 3, 'sscc': BOX}),
                   dict(own, gtin=GTIN, prefix=LARGE_PREFIX, **{'from': 1, 'count': LARGE_COUNT})]})
    control(base, '/suspensions', {'sgtins': [HELD]})
    for _ in range(3):
        control(base, '/counterparties/ship', {'from': 'supplier-a', 'to': PLACE, 'count': 1})
    control(base, '/clock', {'advanceMs': 600000})


def open_pkcs12(folder):
    """Key and certificate of the sandbox's user `main`, as the files that openssl cms wants."""
    names = {'key_file': ['-nocerts'], 'certificate_file': ['-nokeys', '-clcerts']}
    for name, which in names.items():
        files = ['-in', os.path.join(DATA, 'accounts', 'main.p12'), '-out', os.path.join(folder, name)]
        subprocess.run(['openssl', 'pkcs12', '-passin', 'pass:sandbox', '-nodes'] + files + which, check=True,
                       stderr=subprocess.DEVNULL)
    return {name: os.path.join(folder, name) for name in names}


def settings(url, control_url, folder):
    with open(os.path.join(DATA, 'accounts.json'), encoding='utf-8') as file:
        main = next(account for account in json.load(file) if account['name'] == 'main')
    with open(os.path.join(DATA, 'world.json'), encoding='utf-8') as file:
        own = next(one for one in json.load(file)['participants'] if one['key'] == 'own')
    resident = dict(CLIENT, user_id=main['user_id'], **open_pkcs12(folder))
    login = str(uuid.uuid4())
    password_user = control(control_url, '/accounts', {
        'name': 'python-' + login, 'participant': 'own', 'clientId': CLIENT['client_id'], 'userId': login,
        'clientSecret': CLIENT['client_secret'], 'password': 'python-password'})
    return {
        'url': url, 'resident': resident, 'system_id': own['systemId'],
        'non_resident': dict(CLIENT, user_id=password_user['userId'], password='python-password'),
        'place': PLACE, 'other_place': OTHER_PLACE, 'buyer_place': BUYER, 'gtin': GTIN, 'packs': PACKS,
        'loose_packs': [LOOSE], 'foreign_pack': FOREIGN, 'held_pack': HELD, 'unknown_pack': UNKNOWN, 'box': BOX,
        'outer_box': OUTER_BOX, 'unknown_box': UNKNOWN_BOX, 'large_prefix': LARGE_PREFIX, 'large_count': LARGE_COUNT}


def main(url, control_url):
    plant(control_url)
    with tempfile.TemporaryDirectory() as folder:
        return run.main(settings(url, control_url, folder))


if __name__ == '__main__':
    sys.exit(main(sys.argv[1], sys.argv[2]))
