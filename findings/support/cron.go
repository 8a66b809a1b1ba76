// Tells when a schedule is due by robfig/cron 3.0.1, the library of Kubernetes' CronJobs.
package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/robfig/cron"
)

func main() {
	at, _ := time.Parse(time.RFC3339, os.Args[1])
	schedule, err := cron.ParseStandard("CRON_TZ=" + os.Args[2] + " " + os.Args[3])
	if err != nil {
		fmt.Println("Kubernetes: refused")
		return
	}
	var due []string
	for len(due) < 3 {
		at = schedule.Next(at)
		due = append(due, at.UTC().Format("01-02 15:04"))
	}
	fmt.Println("Kubernetes: " + strings.Join(due, ", "))
}
