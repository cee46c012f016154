// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation

  /// What a process uses at one moment (proc(5)).
  struct ProcessFigures: Sendable, CustomStringConvertible {
    /// In KiB, without the pages that are shared with files: the cache's own files are mapped or
    /// read through the page cache, which is not the process's memory.
    var memory: Int
    var descriptors: Int
    var threads: Int

    var description: String {
      "\(memory >> 10) MiB, \(descriptors) descriptors, \(threads) threads"
    }

    /// Returns nil once the process has ended.
    init?(of process: pid_t) {
      guard
        let status = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8),
        let open = try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd")
      else { return nil }
      var numbers: [Substring: Int] = [:]
      for line in status.split(separator: "\n") {
        let parts = line.split(separator: ":", maxSplits: 1)
        guard parts.count == 2 else { continue }
        numbers[parts[0]] = parts[1].split { !$0.isNumber }.first.flatMap { Int($0) }
      }
      guard let memory = numbers["RssAnon"], let threads = numbers["Threads"] else { return nil }
      self.memory = memory
      self.threads = threads
      descriptors = open.count
    }

    private init(memory: Int, descriptors: Int, threads: Int) {
      self.memory = memory
      self.descriptors = descriptors
      self.threads = threads
    }

    /// Returns the median of each figure.
    static func median(of figures: some Collection<ProcessFigures>) -> ProcessFigures {
      func middle(_ values: [Int]) -> Int { values.isEmpty ? 0 : values.sorted()[values.count / 2] }
      return ProcessFigures(
        memory: middle(figures.map(\.memory)), descriptors: middle(figures.map(\.descriptors)),
        threads: middle(figures.map(\.threads)))
    }
  }
#endif
