module example.com/payorders

go 1.23
