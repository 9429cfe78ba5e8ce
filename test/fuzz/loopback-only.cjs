'use strict';

/*
 * Preloaded into the engine that is fuzzed: made-up webhook addresses may name anybody's host, and
 * nothing may go there. What is not this machine is not found.
 */

const dns = require('node:dns');
const net = require('node:net');

const LOOPBACK = /^(localhost|127(\.\d+){3}|::1|::ffff:127(\.\d+){3})$/;

function notFound(host) {
  return Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), {
    code: 'ENOTFOUND',
    syscall: 'getaddrinfo',
    hostname: host,
  });
}

const { lookup } = dns;
dns.lookup = (host, ...rest) => {
  if (LOOPBACK.test(host)) lookup(host, ...rest);
  else process.nextTick(rest.at(-1), notFound(host));
};

const lookupAsync = dns.promises.lookup;
dns.promises.lookup = (host, options) =>
  LOOPBACK.test(host) ? lookupAsync(host, options) : Promise.reject(notFound(host));

const connect = Reflect.get(net.Socket.prototype, 'connect');
net.Socket.prototype.connect = function connectHere(...args) {
  // As `net.connect` hands them on, or as a caller gives them: options, or port and host.
  const [first, second] = Array.isArray(args[0]) ? args[0] : args;
  const options = typeof first === 'object' && first !== null ? first : { host: second };
  const { host = 'localhost', path } = options;
  if (path === undefined && typeof host === 'string' && net.isIP(host) !== 0 && !LOOPBACK.test(host)) {
    process.nextTick(() => this.destroy(notFound(host)));
    return this;
  }
  return connect.apply(this, args);
};
