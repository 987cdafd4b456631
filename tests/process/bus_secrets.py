"""Certificates and NATS credentials of a test's own, made by openssl when it runs."""
import base64
import json
import subprocess

import harness as h

OPERATOR, ACCOUNT, USER = 14 << 3, 0, 20 << 3    # first bytes of NATS' keys (nkeys)
SEED = 18 << 3


def openssl(*words, data=None):
    done = subprocess.run(["openssl", *words], input=data, capture_output=True, check=False)
    h.check(done.returncode == 0, f"openssl {words}: {done.stderr.decode()}")
    return done.stdout


def certificates(directory, authority="ca"):
    """Files of an authority, of a server at 127.0.0.1 and of a client, by name."""
    at = lambda name: h.work(f"{directory}-{name}")    # noqa: E731
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", f"/CN={authority}",
            "-keyout", at("ca.key"), "-out", at("ca.pem"))
    files = {"ca": at("ca.pem")}
    for who, extension in (("server", "subjectAltName=IP:127.0.0.1"), ("client", "extendedKeyUsage=clientAuth")):
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={who}",
                "-keyout", at(who + ".key"), "-out", at(who + ".csr"))
        with open(at(who + ".ext"), "w", encoding="utf-8") as file:
            file.write(extension + "\n")
        openssl("x509", "-req", "-in", at(who + ".csr"), "-CA", at("ca.pem"), "-CAkey", at("ca.key"), "-CAcreateserial", "-days", "2",
                "-extfile", at(who + ".ext"), "-out", at(who + ".pem"))
        files[who], files[who + "_key"] = at(who + ".pem"), at(who + ".key")
    return files


def _crc16(data):
    crc = 0
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ 0x1021 if crc & 0x8000 else crc << 1) & 0xffff
    return crc


def _encoded(data):
    return base64.b32encode(data + _crc16(data).to_bytes(2, "little")).decode().rstrip("=")


class Key:
    """An Ed25519 key as NATS writes it."""

    made = 0

    def __init__(self, role):
        Key.made += 1
        self.file = h.work(f"key-{Key.made}.pem")
        openssl("genpkey", "-algorithm", "ed25519", "-out", self.file)
        self.public = _encoded(bytes([role]) + openssl("pkey", "-in", self.file, "-pubout", "-outform", "DER")[-32:])
        secret = openssl("pkey", "-in", self.file, "-outform", "DER")[-32:]
        self.seed = _encoded(bytes([SEED | role >> 5, (role & 31) << 3]) + secret)

    def token(self, subject, name, claims):
        """A JWT about `subject`, signed with this key."""
        plain = lambda value: base64.urlsafe_b64encode(value).decode().rstrip("=")    # noqa: E731
        body = {"jti": "T" * 52, "iat": 1700000000, "iss": self.public, "name": name, "sub": subject, "nats": {**claims, "version": 2}}
        text = plain(json.dumps({"typ": "JWT", "alg": "ed25519-nkey"}).encode()) + "." + plain(json.dumps(body).encode())
        message, signature = h.work("jwt.text"), h.work("jwt.signature")
        with open(message, "w", encoding="utf-8") as file:
            file.write(text)
        openssl("pkeyutl", "-sign", "-rawin", "-inkey", self.file, "-in", message, "-out", signature)
        with open(signature, "rb") as file:
            return text + "." + plain(file.read())


class Operator:
    """An operator with accounts, for a server that keeps them in its memory."""

    def __init__(self):
        self.key = Key(OPERATOR)
        self.accounts = {}
        self.system = self.account("system", jetstream=False).public    # the server requires one, and no JetStream in it

    def account(self, name, jetstream=True):
        key = Key(ACCOUNT)
        limits = {**dict.fromkeys(("subs", "conn", "leaf", "imports", "exports", "data", "payload"), -1), "wildcards": True}
        if jetstream:
            limits.update(dict.fromkeys(("mem_storage", "disk_storage", "streams", "consumer"), -1))
        self.accounts[key.public] = self.key.token(key.public, name, {"type": "account", "limits": limits})
        return key

    def credentials(self, account, name, denied=()):
        """The file of a new user of the account."""
        user = Key(USER)
        claims = {"type": "user", "subs": -1, "data": -1, "payload": -1}
        if denied:
            claims["pub"] = {"deny": list(denied)}
        path = h.work(f"{name}.creds")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"-----BEGIN NATS USER JWT-----\n{account.token(user.public, name, claims)}\n------END NATS USER JWT------\n\n"
                       f"-----BEGIN USER NKEY SEED-----\n{user.seed}\n------END USER NKEY SEED------\n")
        return path

    def configuration(self):
        operator = self.key.token(self.key.public, "operator", {"type": "operator"})
        return f"operator: {operator}\nsystem_account: {self.system}\nresolver: MEMORY\nresolver_preload: {json.dumps(self.accounts)}\n"
