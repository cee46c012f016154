// SPDX-License-Identifier: MIT
import Foundation

/// `refrain-bench [NAME…]`: measures each row against a peer or the raw system call in the same
/// run, prints each row, then all of them. Without a name, it runs everything; `proxy` stands for
/// `proxy-warm`, `proxy-cold` and `proxy-list`. Exits with 1 if a row misses its goal or could not be measured.
@main
enum Main {
  static let benchmarks: [any Benchmark.Type] = [
    WarmReading.self, ColdReading.self, StreamingMemory.self, LargeDirectory.self,
    MissAmongMany.self, ManyEntries.self, LongStream.self, SeekWaste.self, StalledClient.self,
    OriginCost.self, ProgramStart.self, FirstSound.self, FirstFrame.self, StreamStart.self,
    VideoPlay.self, SlowLine.self, ManyClients.self, WarmRace.self, ColdRace.self,
    RewrittenList.self,
  ]

  static func main() async throws {
    Program.forgetProxies()
    let names = Array(CommandLine.arguments.dropFirst())
    switch names.first {
    case RelayProcess.command: return try RelayProcess.serve(arguments: names)
    case FirstByteProbe.command: return try await FirstByteProbe.run(arguments: names)
    default: break
    }
    Child.endWithSignals()
    func isNamed(_ benchmark: any Benchmark.Type, _ name: String) -> Bool {
      benchmark.name == name || benchmark.name.hasPrefix(name + "-")
    }
    if let unknown = names.first(where: { name in !benchmarks.contains { isNamed($0, name) } }) {
      let known = benchmarks.map { $0.name }.joined(separator: ", ")
      print("There is no benchmark named \(unknown); there are: \(known).")
      exit(64)
    }
    let report = Report()
    for benchmark in benchmarks
    where names.isEmpty || names.contains(where: { isNamed(benchmark, $0) }) {
      report.note("\n\(benchmark.name)  (load \(Measure.load))")
      await report.attempt(benchmark.rows) { try await benchmark.run(report) }
    }
    exit(report.close() ? 0 : 1)
  }
}
