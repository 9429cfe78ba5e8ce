import { readFileSync } from 'node:fs';
import { loadMicroPython } from '@micropython/micropython-webassembly-pyscript/micropython.mjs';

/*
 * A Python that each machine has: it runs the programs of the list on stdin, one after the other,
 * and prints what they would send, which `requests` here keeps.
 */

const REQUESTS = `
import json, sys

sent = []

class Answer:
    status_code, text = 200, ""
    def json(self):
        return {"access_token": "t"}

def sender(method, own):
    def send(url, timeout, params=None, headers={}, json=None, data=None):
        everything = dict(list(own.items()) + list(headers.items()))
        sent.append(dict(method=method, url=url, params=params, headers=everything, json=json, data=data))
        return Answer()
    return send

class Session:
    def __init__(self):
        self.headers = {}
        for method in ("get", "post", "put", "patch"):
            setattr(self, method, sender(method.upper(), self.headers))

class Module:
    pass

requests, os = Session(), Module()
requests.Session = Session
os.environ = {"ASSENT_URL": "http://a", "CLIENT_ID": "c", "CLIENT_SECRET": "s"}
sys.modules.update({"requests": requests, "os": os})
open = lambda name, mode: "@" + name
print = lambda *told: None
`;

const python = await loadMicroPython();
for (const program of [REQUESTS, ...JSON.parse(readFileSync(0, 'utf8'))]) python.runPython(program);
python.runPython('told = json.dumps(sent)');
process.stdout.write(python.globals.get('told'));
