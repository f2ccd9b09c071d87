"""Signing in and out, and the call interval."""
import time

import shapes
from registry import interval_of

# A busy machine may let the interval pass between two calls that follow each other at once.
MOST_CALLS_AT_ONCE = 5


def sign_in(session, report, who):
    code = report.shape('auth of the %s user' % who, shapes.CODE, session.auth())
    token = report.shape('token of the %s user' % who, shapes.TOKEN, session.take_token(code.get('code')))
    session.token = token.get('token')
    life_time = token.get('life_time')
    report.true('life_time of the %s user in minutes' % who, life_time in (30, 600), life_time)


def refusals(session, report):
    wrong = dict(session.user, client_secret='wrong')
    right, session.user = session.user, wrong
    report.status('auth with a wrong client_secret', 400, session.auth())
    session.user = right
    address = session.base_url + 'documents/doc_size'
    report.status('call without a token', 401, session.exchange('GET', address))
    bearer = {'Authorization': 'Bearer ' + session.token}
    report.status('call with the word Bearer', 401, session.exchange('GET', address, None, bearer))


def too_soon(session, report):
    """Two calls at once: the second gets 429, and one that waits as its error_description says is served."""
    size = report.shape('doc_size', shapes.SIZE, session.get('doc_size', 'documents/doc_size'))
    for _ in range(MOST_CALLS_AT_ONCE):
        refused = session.at_once('doc_size', 'GET', 'documents/doc_size')
        if refused.status == 429:
            break
    report.status('second call at once', 429, refused)
    report.shape_of('body of a 429', shapes.ERROR, refused.json())
    report.equal('interval of error_description', 0.5, interval_of(refused))
    session.lengthen('doc_size', refused)
    since = time.monotonic()
    report.status('call after the interval of error_description', 200, session.get('doc_size', 'documents/doc_size'))
    report.true('the interval was kept', time.monotonic() - since >= (interval_of(refused) or 0) - 0.05)
    return size.get('doc_size', 0)


def sign_out(session, report, who):
    answer = session.get('logout', 'auth/logout')
    report.status('logout of the %s user' % who, 200, answer)
    report.equal('body of the logout of the %s user' % who, b'', answer.body)
    report.status('call of the %s user after logout' % who, 401, session.get('doc_size', 'documents/doc_size'))
