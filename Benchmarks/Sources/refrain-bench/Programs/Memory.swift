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

  /// Takes that many bytes of the system's free memory, writes to them, and gives them back. A virtual
  /// machine may have lent what is free to its host: who uses it first pays for having it returned.
  static func warmFreePages(_ bytes: Int) {
    let memory = mmap(nil, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    guard let memory, memory != MAP_FAILED else { return }
    for offset in stride(from: 0, to: bytes, by: 4096) {
      memory.storeBytes(of: 1, toByteOffset: offset, as: UInt8.self)
    }
    munmap(memory, bytes)
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
