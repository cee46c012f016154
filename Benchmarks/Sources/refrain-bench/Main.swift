// SPDX-License-Identifier: MIT
import Foundation

/// `refrain-bench [NAME…]`: measures, each against a peer or the raw system call in the same run,
/// and prints a line for each. Without a name, everything.
@main
enum Main {
  static let benchmarks: [(name: String, run: @Sendable () async throws -> Void)] = [
    ("warm", { try await WarmReading.run() }),
    ("cold", { try await ColdReading.run() }),
    ("memory", { try await StreamingMemory.run() }),
    ("open", { try await LargeDirectory.run() }),
    ("entries", { try await ManyEntries.run() }),
    ("seek", { try await SeekWaste.run() }),
    ("sound", { try await FirstSound.run() }),
    ("proxy", { try await ProxyRace.run() }),
  ]

  static func main() async throws {
    var names = Array(CommandLine.arguments.dropFirst())
    if names.first == OriginProcess.command {
      try await OriginProcess.serve(arguments: names)
      return
    }
    if names.first == RelayProcess.command {
      try RelayProcess.serve(arguments: names)
      return
    }
    if names.isEmpty { names = benchmarks.map(\.name) }
    for name in names {
      guard let benchmark = benchmarks.first(where: { $0.name == name }) else {
        print("There is no benchmark named \(name); there are: \(benchmarks.map(\.name)).")
        exit(64)
      }
      try await benchmark.run()
    }
  }
}
