package doctor

import (
	"fmt"
	"strconv"
	"time"
)

// persistence judges what is left after a crash or a restart.
func (f *facts) persistence() []Finding {
	findings := f.failedWrites()
	if f.info["aof_enabled"] == "1" {
		return append(findings, f.appendOnly())
	}
	found := Finding{Level: Warning, Change: append(set("appendonly", "yes"), set("appendfsync", "everysec")...)}
	switch save, known := f.config["save"]; {
	case known && save == "":
		found.Level, found.Found = Problem, "nothing is written to disk"
		found.Why = "a restart of Redis loses all jobs and counts"
	default:
		found.Found = fmt.Sprintf("snapshots only, the last one %s ago, %d changes since then", f.lastSave(), f.number("rdb_changes_since_last_save"))
		found.Why = "a crash loses what came after the last snapshot: jobs that were accepted, and ends of jobs, which then run again"
		if !known {
			found.Found = "no append-only file; whether there are snapshots is hidden (CONFIG GET is not allowed)"
		}
	}
	return append(findings, found)
}

func (f *facts) lastSave() time.Duration {
	return time.Since(time.Unix(f.number("rdb_last_save_time"), 0)).Round(time.Second)
}

func (f *facts) appendOnly() Finding {
	found := Finding{}
	switch fsync, known := f.config["appendfsync"]; {
	case !known:
		found.Found = "append-only file; how often it is synced is hidden (CONFIG GET is not allowed)"
	case fsync == "always":
		found.Found = "append-only file, synced with each change: nothing that was accepted is lost"
	case fsync == "everysec":
		found.Found = "append-only file, synced each second: when Redis or the machine crashes, up to two seconds are lost"
	default:
		found.Level, found.Found = Warning, "append-only file, synced when the system likes (appendfsync "+fsync+")"
		found.Why = "when the machine crashes, half a minute may be lost"
		found.Change = set("appendfsync", "everysec")
	}
	return found
}

// failedWrites are a sign of a full or broken disk.
func (f *facts) failedWrites() (findings []Finding) {
	for _, write := range []struct{ field, what, change string }{
		{"aof_last_write_status", "the last write to the append-only file failed", "see Redis's log; mend the disk, then redis-cli BGREWRITEAOF"},
		{"rdb_last_bgsave_status", "the last snapshot failed", "see Redis's log; mend the disk, then redis-cli BGSAVE"},
	} {
		if status := f.info[write.field]; status != "" && status != "ok" {
			findings = append(findings, Finding{
				Level: Problem, Found: write.what,
				Why: "Redis refuses writes, or what it takes is not on disk", Change: []string{write.change},
			})
		}
	}
	return findings
}

// replication judges what is left after the loss of the machine.
func (f *facts) replication() []Finding {
	if f.info["role"] != "master" {
		return []Finding{{
			Level: Problem, Found: "this is a replica of " + f.info["master_host"] + ":" + f.info["master_port"],
			Why: "a replica takes no writes", Change: []string{"give --redis the URL of the master, or of the Sentinels: redis+sentinel://…"},
		}}
	}
	replicas := f.number("connected_slaves")
	if replicas == 0 {
		return []Finding{{Found: "no replica: this server has the only copy"}}
	}
	found := Finding{Found: fmt.Sprintf("%d replicas", replicas)}
	switch least, err := strconv.Atoi(f.config["min-replicas-to-write"]); {
	case err != nil:
		found.Found += "; whether writes wait for them is hidden (CONFIG GET is not allowed)"
	case least == 0:
		found.Level = Warning
		found.Found += ", and writes are taken without any of them"
		found.Why = "a master that is cut off takes jobs that are lost when a replica takes over"
		found.Change = append(set("min-replicas-to-write", "1"), set("min-replicas-max-lag", "10")...)
	default:
		found.Found += fmt.Sprintf(", %d of which must follow for a write to be taken", least)
	}
	return []Finding{found}
}

// restarts judges whether workers can notice that the server was restarted or replaced: by its run
// id.
func (f *facts) restarts() []Finding {
	if f.info["run_id"] != "" {
		return nil
	}
	return []Finding{{
		Level: Warning,
		Found: "INFO is hidden, or has no run_id: this user may not run it, or a proxy leaves it out",
		Why: "workers don't notice at once that a restart or a failover lost writes, only when they compare their jobs each minute:" +
			" until then a worker may end a job that another one has got again, and jobs whose ends were lost run again;" +
			" durable jobs are refused, and a Redis that is too old or drops keys is not",
		Change: []string{
			fmt.Sprintf("redis-cli ACL SETUSER %s +info", f.userName()),
			"behind a proxy that hides it: connect to Redis itself",
		},
	}}
}

// slots judges a Redis Cluster.
func (f *facts) slots() []Finding {
	if f.info == nil {
		return nil
	}
	switch is := f.info["cluster_enabled"] == "1"; {
	case is && !f.cluster:
		return []Finding{{
			Level: Problem, Found: "this server is one of a Redis Cluster",
			Why: "most queues are on others", Change: []string{"give --redis a URL such as redis+cluster://host:port"},
		}}
	case is && f.clusterState != "" && f.clusterState != "ok":
		return []Finding{{
			Level: Problem, Found: "the cluster's state is " + f.clusterState,
			Why: "some or all keys are refused", Change: []string{"redis-cli --cluster check HOST:PORT"},
		}}
	case is:
		return []Finding{{Found: "a master of a Redis Cluster, which serves all slots"}}
	}
	return nil
}
