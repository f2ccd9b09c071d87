"""A client of the registry: signs in, keeps the intervals, signs documents. Written from docs/public-facts.md alone."""
import base64
import json
import re
import subprocess
import time
import urllib.error
import urllib.request

# Seconds between two calls of one method by one user (public-facts 1). What is not named here waits DEFAULT_INTERVAL.
DEFAULT_INTERVAL = 0.5
INTERVALS = {
    'auth': 1, 'token': 1, 'logout': 1, 'outcome': 1, 'income': 1, 'showcase outcome': 1,
    'sgtins by list': 10, 'public sgtins by list': 1, 'device sales awaiting': 1,
    'hierarchy': 20, 'sgtins of a container': 5, 'full hierarchy': 30, 'full hierarchy of several': 30,
    'partners': 1, 'public products': 5, 'public product': 1, 'virtual storage': 1, 'batch distribution': 1,
}
UNITS = (('мс|ms|milli|милли', 0.001), ('мин|min', 60.0), ('с|s', 1.0))
PAUSE_AFTER_429_WITHOUT_INTERVAL = 1.0
MOST_TRIES = 4


class Answer:
    """Status, headers and body of one answer."""

    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    def json(self):
        try:
            return json.loads(self.body.decode('utf-8-sig'))
        except ValueError:
            return None

    def __str__(self):
        return '%d %s' % (self.status, self.body[:300].decode('utf-8', 'replace'))


def interval_of(answer):
    """Seconds that a 429 states in its error_description or in Retry-After; None when it states none."""
    body = answer.json()
    text = body.get('error_description', '') if isinstance(body, dict) else ''
    for unit, seconds in UNITS:
        found = re.search(r'(\d+(?:[.,]\d+)?)\s*(?:%s)' % unit, text or '', re.IGNORECASE)
        if found:
            return float(found.group(1).replace(',', '.')) * seconds
    after = answer.headers.get('Retry-After', '')
    return float(after) if after.isdigit() else None


class Signer:
    """Signs as the facts want it: detached CMS over the bytes, signer certificate only, base64 without line breaks."""

    def __init__(self, key_file, certificate_file):
        self.files = (key_file, certificate_file)

    def sign(self, content):
        key_file, certificate_file = self.files
        done = subprocess.run(
            ['openssl', 'cms', '-sign', '-binary', '-outform', 'DER', '-signer', certificate_file, '-inkey', key_file],
            input=content, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        if done.returncode != 0:
            raise RuntimeError('openssl cms failed: ' + done.stderr.decode('utf-8', 'replace'))
        return base64.b64encode(done.stdout).decode('ascii')


class Session:
    """One user at the registry. `refused` lists the 429s that came although the client kept the interval."""

    def __init__(self, base_url, user, signer=None):
        self.base_url = base_url.rstrip('/') + '/api/v1/'
        self.user = user
        self.signer = signer
        self.token = None
        self.refused = []
        self._last = {}
        self._intervals = dict(INTERVALS)

    def exchange(self, method, url, body=None, headers=None):
        """One bare request, at once and without a second try."""
        full = url if '://' in url else self.base_url + url
        request = urllib.request.Request(full, data=body, method=method, headers=headers or {})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return Answer(answer.status, answer.headers, answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, error.headers, error.read())

    def headers(self):
        return {'Authorization': 'token ' + self.token} if self.token else {}

    def call(self, name, method, url, body=None, headers=None):
        """A call that keeps its interval. After a 429 it waits as the answer says, counted from the refused request."""
        sent = dict(self.headers(), **(headers or {}))
        if body is not None and not isinstance(body, bytes) and 'Content-Range' not in sent:
            body = json.dumps(body).encode('utf-8')
            sent.setdefault('Content-Type', 'application/json;charset=UTF-8')
        for _ in range(MOST_TRIES):
            self._wait(name)
            answer = self.exchange(method, url, body() if callable(body) else body, sent)
            self._last[name] = time.monotonic()
            if answer.status != 429:
                return answer
            self.refused.append('%s after %s s' % (name, self._interval(name)))
            self.lengthen(name, answer)
        return answer

    def at_once(self, name, method, url):
        """A call that does not keep its interval."""
        answer = self.exchange(method, url, None, self.headers())
        self._last[name] = time.monotonic()
        return answer

    def lengthen(self, name, answer):
        stated = interval_of(answer)
        doubled = max(self._interval(name) * 2, PAUSE_AFTER_429_WITHOUT_INTERVAL)
        self._intervals[name] = doubled if stated is None else max(stated, self._interval(name))

    def _interval(self, name):
        return self._intervals.get(name, DEFAULT_INTERVAL)

    def _wait(self, name):
        if name in self._last:
            time.sleep(max(0.0, self._last[name] + self._interval(name) - time.monotonic()))

    def get(self, name, url, headers=None):
        return self.call(name, 'GET', url, None, headers)

    def post(self, name, url, body):
        return self.call(name, 'POST', url, body)

    def auth(self):
        return self.post('auth', 'auth', {
            'client_id': self.user['client_id'], 'client_secret': self.user['client_secret'],
            'user_id': self.user['user_id'], 'auth_type': 'SIGNED_CODE' if self.signer else 'PASSWORD'})

    def take_token(self, code):
        proof = {'signature': self.signer.sign(code.encode('utf-8'))} if self.signer \
            else {'password': self.user['password']}
        return self.post('token', 'token', dict(code=code, **proof))

    def signed(self, xml, body):
        return dict(body, sign=self.signer.sign(xml)) if self.signer else body

    def send(self, xml, request_id, **more):
        body = dict(document=base64.b64encode(xml).decode('ascii'), request_id=request_id, **more)
        return self.post('send', 'documents/send', self.signed(xml, body))

    def put_part(self, link, part, content_range):
        """One part of an upload, in chunked transfer as public clients send it."""
        first, last, total = content_range
        return self.call('upload', 'PUT', link, lambda: iter([part]), {
            'Content-Range': 'bytes %d-%d/%d' % (first, last, total), 'Content-Type': 'application/octet-stream'})
