import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

/** The paths of a certificate and its key, as PEM. */
export interface Certificate {
  readonly certFile: string;
  readonly keyFile: string;
}

/** Issues certificates that are valid for a day, into a folder. */
export interface Authority extends Certificate {
  /** @param hosts DNS names and addresses, as `DNS:localhost,IP:127.0.0.1`; none for a client */
  issue(name: string, hosts?: string): Certificate;
}

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

function create(folder: string, name: string, options: readonly string[]): Certificate {
  const certFile = join(folder, `${name}.pem`);
  const keyFile = join(folder, `${name}.key`);
  const files = ['-keyout', keyFile, '-out', certFile];
  const args = ['req', '-x509', ...NEW_KEY, '-days', '1', '-subj', `/CN=${name}`, ...files];
  execFileSync('openssl', [...args, ...options], { stdio: 'pipe' });
  return { certFile, keyFile };
}

/** A certificate authority of its own. */
export function createAuthority(folder: string, name: string): Authority {
  const own = create(folder, name, []);
  return {
    ...own,
    issue: (subject, hosts) =>
      create(folder, subject, [
        '-CA',
        own.certFile,
        '-CAkey',
        own.keyFile,
        '-addext',
        'basicConstraints=critical,CA:FALSE',
        ...(hosts === undefined ? [] : ['-addext', `subjectAltName=${hosts}`]),
      ]),
  };
}
