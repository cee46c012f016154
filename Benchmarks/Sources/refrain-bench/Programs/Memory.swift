// SPDX-License-Identifier: MIT
import Foundation

/// Resident memory of a process, in bytes: proc(5), status. This one's where none is named.
enum Memory {
  static func resident(_ process: pid_t? = nil) -> Double { line("VmRSS", process) }

  static func peak(_ process: pid_t? = nil) -> Double { line("VmHWM", process) }

  /// Starts the peak of this process from its present memory (proc(5), clear_refs).
  static func resetPeak() {
    try? "5".write(toFile: "/proc/self/clear_refs", atomically: false, encoding: .utf8)
  }

  /// Not a number where the process has ended.
  private static func line(_ key: String, _ process: pid_t?) -> Double {
    let path = "/proc/\(process.map { "\($0)" } ?? "self")/status"
    let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    let line = text.split(separator: "\n").first { $0.hasPrefix(key + ":") } ?? ""
    let kibibytes = line.split(whereSeparator: { !$0.isNumber }).first.flatMap { Double($0) }
    return (kibibytes ?? .nan) * 1024
  }
}
