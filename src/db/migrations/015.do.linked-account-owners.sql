-- In production an account at a gateway belongs to one merchant. Otherwise an operator could give a merchant the
-- account of another one, and what its buyers pay would go there.
CREATE UNIQUE INDEX linked_accounts_of_one_merchant ON linked_accounts (gateway, linked_account_id)
  WHERE environment = 'production';
