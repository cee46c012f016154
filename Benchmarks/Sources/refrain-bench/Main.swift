// SPDX-License-Identifier: MIT
import Foundation

/// `refrain-bench [NAME…]`: measures, each against a peer or the raw system call in the same run,
/// and prints a row for each, then all of them. Without a name, everything. Exits with 1 where a row
/// misses its goal or could not be measured.
@main
enum Main {
  static let benchmarks: [any Benchmark.Type] = [
    WarmReading.self, ColdReading.self, StreamingMemory.self, LargeDirectory.self,
    MissAmongMany.self, ManyEntries.self, SeekWaste.self, StalledClient.self, OriginCost.self,
    ProgramStart.self, FirstSound.self, FirstFrame.self, SlowLine.self, ManyClients.self,
    ProxyRace.self,
  ]

  static func main() async throws {
    Program.forgetProxies()
    let names = Array(CommandLine.arguments.dropFirst())
    switch names.first {
    case OriginProcess.command: return try await OriginProcess.serve(arguments: names)
    case RelayProcess.command: return try RelayProcess.serve(arguments: names)
    case FirstByteProbe.command: return try await FirstByteProbe.run(arguments: names)
    default: break
    }
    Child.endWithSignals()
    let known = benchmarks.map { $0.name }
    if let unknown = names.first(where: { !known.contains($0) }) {
      print("There is no benchmark named \(unknown); there are: \(known.joined(separator: ", ")).")
      exit(64)
    }
    let report = Report()
    for benchmark in benchmarks where names.isEmpty || names.contains(benchmark.name) {
      report.note("\n\(benchmark.name)")
      await report.attempt(benchmark.rows) { try await benchmark.run(report) }
    }
    exit(report.close() ? 0 : 1)
  }
}
