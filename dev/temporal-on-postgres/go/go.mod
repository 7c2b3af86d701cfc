// What else is needed follows from these versions: a build adds it to its copy of this file. go.sum has all digests.
module temporal-server

go 1.26.10

tool (
	github.com/temporalio/ui-server/v2/cmd/server
	go.temporal.io/server/cmd/server
	go.temporal.io/server/cmd/tools/sql
)

require (
	github.com/aws/aws-sdk-go-v2/service/ecs v1.104.1
	github.com/temporalio/ui-server/v2 v2.58.0
	go.temporal.io/api v1.64.1
	go.temporal.io/server v1.32.2
)

replace github.com/gomarkdown/markdown => github.com/gomarkdown/markdown v0.0.0-20250311123330-531bef5e742b

replace github.com/labstack/echo/v4 => github.com/labstack/echo/v4 v4.16.0
