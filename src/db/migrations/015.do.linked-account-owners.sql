-- In production an account at a gateway belongs to one merchant. Otherwise an operator could give a merchant the
-- account of another one, and what its buyers pay would go there.
DO $$
DECLARE
  shared record;
BEGIN
  SELECT gateway, linked_account_id, string_agg(merchant_id, ', ' ORDER BY merchant_id) AS merchants
  INTO shared FROM linked_accounts WHERE environment = 'production'
  GROUP BY gateway, linked_account_id HAVING count(*) > 1 LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'The linked account % at % belongs to several merchants (%): give all but one another account first',
      shared.linked_account_id, shared.gateway, shared.merchants;
  END IF;
END $$;
CREATE UNIQUE INDEX linked_accounts_of_one_merchant ON linked_accounts (gateway, linked_account_id)
  WHERE environment = 'production';
