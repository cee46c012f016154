// SPDX-License-Identifier: MIT
import Foundation

/// The resident memory of a process, in bytes: proc(5), status. Defaults to this process.
enum Memory {
  static func resident(_ process: pid_t? = nil) -> Double { line("VmRSS", process) }

  static func peak(_ process: pid_t? = nil) -> Double { line("VmHWM", process) }

  /// Resets the peak of this process to its present memory (proc(5), clear_refs).
  static func resetPeak() {
    try? "5".write(toFile: "/proc/self/clear_refs", atomically: false, encoding: .utf8)
  }

  /// Takes that many bytes of the system's free memory, writes to them, and frees them. A virtual
  /// machine may have lent free memory to its host: the first user pays for its return.
  static func warmFreePages(_ bytes: Int) {
    let memory = mmap(nil, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    guard let memory, memory != MAP_FAILED else { return }
    for offset in stride(from: 0, to: bytes, by: 4096) {
      memory.storeBytes(of: 1, toByteOffset: offset, as: UInt8.self)
    }
    munmap(memory, bytes)
  }

  /// Returns NaN if the process has ended.
  private static func line(_ key: String, _ process: pid_t?) -> Double {
    let path = "/proc/\(process.map { "\($0)" } ?? "self")/status"
    let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    let line = text.split(separator: "\n").first { $0.hasPrefix(key + ":") } ?? ""
    let kibibytes = line.split(whereSeparator: { !$0.isNumber }).first.flatMap { Double($0) }
    return (kibibytes ?? .nan) * 1024
  }
}
