/** What the API answers instead of an entity: api/errors, `{error: {code, description, …}}`. */
export class RazorpayError extends Error {
  override readonly name = 'RazorpayError';
  readonly status: number;
  readonly code: string;

  constructor(status: number, description: string, code = 'BAD_REQUEST_ERROR') {
    super(description);
    this.status = status;
    this.code = code;
  }

  /** The body as it goes over the wire. */
  toBody() {
    const { code, message: description } = this;
    const where = { source: 'NA', step: 'NA', reason: 'NA' };
    return { error: { code, description, ...where, metadata: {} } };
  }
}

/** A 400 with Razorpay's own words where its documentation gives them. */
export function badRequest(description: string): RazorpayError {
  return new RazorpayError(400, description);
}

/** Their own fault: with these words, and whatever status. */
export function serverError(status: number): RazorpayError {
  const description =
    'We are facing some trouble completing your request at the moment. Please try again shortly.';
  return new RazorpayError(status, description, 'SERVER_ERROR');
}
