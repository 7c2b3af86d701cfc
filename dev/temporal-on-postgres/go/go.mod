// What else is needed follows from these versions: a build adds it to its copy of this file. go.sum has all digests.
module temporal-server

go 1.26.10

tool (
	go.temporal.io/server/cmd/server
	go.temporal.io/server/cmd/tools/sql
)

require (
	github.com/aws/aws-sdk-go-v2/service/ecs v1.104.1
	go.temporal.io/api v1.64.1
	go.temporal.io/server v1.32.2
)
