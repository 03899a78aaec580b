"""What happens to pipelines when processes, threads, consumers and memory misbehave."""
