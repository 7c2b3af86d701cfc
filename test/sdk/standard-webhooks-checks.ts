import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { installPython } from '../../dev/processes/tool-folder.ts';
import { unusualTestBody } from '../../src/orders/public.ts';
import { API_VERSION } from '../../src/http/versions.ts';
import { signedRequest } from '../../src/webhooks/sending/signed-request.ts';
import type { ClientCheck, Scene } from './client-checks.ts';

const SECRET = 'whsec_e38fe83fa6964c41c0933cfd8a7d7d3c1e07';

/** The module with the official libraries of Go, PHP and Ruby. Its folders are not published elsewhere as files. */
const LIBRARIES = 'github.com/standard-webhooks/standard-webhooks/libraries';
const VERSION = 'v0.0.1';

/** Writes a webhook as the service signs it now, because the libraries compare its time with the clock. */
function record(folder: string): void {
  const about = {
    environment: 'sandbox',
    eventId: 'evt_01M7W4Q010D3F5G7H9J1K2M4N6',
    at: new Date(),
  } as const;
  const { body, headers } = signedRequest(
    {
      ...about,
      url: 'https://shop.example/hook',
      secret: SECRET,
      eventType: 'TEST',
      body: unusualTestBody(about),
      apiVersion: API_VERSION,
    },
    about.at,
  );
  writeFileSync(join(folder, 'body'), body);
  writeFileSync(join(folder, 'forged'), Buffer.concat([body, Buffer.from(' ')]));
  writeFileSync(join(folder, 'headers.json'), JSON.stringify(headers));
}

/** Runs a program with the name of the file of the body: it must accept the webhook, and no changed one. */
async function verifyBoth({ folder, run }: Scene, file: string, ...args: string[]): Promise<void> {
  record(folder);
  const verify = (body: string) => run(file, [...args, body], { env: { SECRET } });
  await verify('body');
  const isAccepted = await verify('forged').then(
    () => true,
    () => false,
  );
  if (isAccepted) throw new Error('The library accepts a body that was changed');
}

/** @returns the folder of the libraries, as the Go module proxy has them */
async function download({ run }: Scene): Promise<string> {
  const json = await run('go', ['mod', 'download', '-json', `${LIBRARIES}@${VERSION}`]);
  return (JSON.parse(json) as { Dir: string }).Dir;
}

const PYTHON = `
import json, os, sys
from standardwebhooks.webhooks import Webhook

Webhook(os.environ["SECRET"]).verify(open(sys.argv[1], encoding="utf-8").read(), json.load(open("headers.json")))
`;

const GO = `package main

import (
	"encoding/json"
	"net/http"
	"os"

	standardwebhooks "${LIBRARIES}/go"
)

func must[Value any](value Value, err error) Value {
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	var headers map[string]string
	must(0, json.Unmarshal(must(os.ReadFile("headers.json")), &headers))
	sent := http.Header{}
	for name, value := range headers {
		sent.Set(name, value)
	}
	webhook := must(standardwebhooks.NewWebhook(os.Getenv("SECRET")))
	must(0, webhook.Verify(must(os.ReadFile(os.Args[1])), sent))
}
`;

const PHP = `<?php
require $argv[1] . '/php/init.php';
$headers = json_decode(file_get_contents('headers.json'), true);
(new StandardWebhooks\\Webhook(getenv('SECRET')))->verify(file_get_contents($argv[2]), $headers);
`;

const RUBY = `
$LOAD_PATH << File.join(ARGV[0], "ruby/lib")
require "standardwebhooks"

headers = JSON.parse(File.read("headers.json"))
StandardWebhooks::Webhook.new(ENV["SECRET"]).verify(File.read(ARGV[1]), headers)
`;

/** The official libraries of Standard Webhooks verify what the service signs; Node's does in `npm test`. */
export const STANDARD_WEBHOOKS_CHECKS: readonly ClientCheck[] = [
  {
    name: 'Standard Webhooks for Python',
    tool: 'python3',
    async check(scene) {
      const programs = await installPython(scene, 'standardwebhooks==1.1.0');
      await scene.write('verify.py', PYTHON);
      await verifyBoth(scene, join(programs, 'python'), 'verify.py');
    },
  },
  {
    name: 'Standard Webhooks for Go',
    tool: 'go',
    async check(scene) {
      const go = (...args: string[]) => scene.run('go', args, { env: { GOFLAGS: '-mod=mod' } });
      await scene.write('main.go', GO);
      await go('mod', 'init', 'shop.example/shop');
      await go('get', `${LIBRARIES}@${VERSION}`);
      await go('build', '-o', 'verify', '.');
      await verifyBoth(scene, join(scene.folder, 'verify'));
    },
  },
  {
    name: 'Standard Webhooks for PHP',
    tool: 'php',
    async check(scene) {
      await scene.write('verify.php', PHP);
      await verifyBoth(scene, 'php', 'verify.php', await download(scene));
    },
  },
  {
    name: 'Standard Webhooks for Ruby',
    tool: 'ruby',
    async check(scene) {
      await scene.write('verify.rb', RUBY);
      await verifyBoth(scene, 'ruby', 'verify.rb', await download(scene));
    },
  },
];
